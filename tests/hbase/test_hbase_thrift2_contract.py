"""The part of the contract of stores that a Thrift2 gateway answers: many ranges, columns, versions, split keys."""

from __future__ import annotations

from test_store_contract import (  # noqa: F401 - tests, which run here on another store
    property_examples,
    test_a_bad_mutation_is_refused_and_spoils_no_other,
    test_a_column_keeps_its_newest_versions_whatever_order_they_come_in,
    test_a_limit_counts_only_rows_that_come,
    test_a_limit_counts_rows_exactly_over_all_ranges,
    test_a_long_scan_for_words_gives_each_row_once_and_in_order,
    test_a_long_scan_gives_each_row_once_and_in_order,
    test_a_missing_table_is_said_to_be_missing,
    test_a_range_of_columns_includes_its_start_and_leaves_out_its_stop,
    test_a_row_that_contains_the_words_is_never_left_out,
    test_a_row_with_the_words_but_none_of_the_columns_does_not_come,
    test_a_row_without_the_family_has_no_columns_in_it,
    test_a_store_shows_what_the_model_shows,
    test_a_time_range_finds_the_newest_version_inside_of_it,
    test_a_time_range_includes_its_since_and_leaves_out_its_until,
    test_a_wide_row_is_read_in_pieces,
    test_as_many_versions_come_as_are_asked_for_the_newest_first,
    test_columns_that_are_deleted_or_expired_do_not_come,
    test_columns_without_their_values_have_their_timestamps,
    test_fewer_columns_than_the_limit_are_the_last_however_large_they_are,
    test_first_rows_answer_each_range_by_itself,
    test_first_rows_give_fewer_than_the_limit_only_at_the_end_of_a_range,
    test_in_a_time_range_its_newest_value_is_what_contains_the_words,
    test_limits_count_the_rows_that_contain_the_words,
    test_many_rows_are_read_in_pieces_at_once,
    test_no_columns_are_not_all_columns,
    test_only_keys_come_without_cells,
    test_qualifiers_of_any_bytes_bound_a_range_of_columns,
    test_ranges_are_taken_together,
    test_rows_are_read_in_pieces_whatever_lies_between_them,
    test_rows_that_do_not_contain_the_words_are_left_out,
    test_split_keys_become_regions,
    test_the_first_columns_of_a_family_come_in_byte_order_with_their_newest_cells,
    test_the_first_rows_are_as_many_as_asked_for_however_wide_they_are,
    test_the_first_rows_of_256_ranges_come_in_the_order_of_the_ranges,
    test_the_first_rows_of_an_open_range_begin_at_the_end_of_the_table,
    test_the_keys_of_a_time_range_are_those_with_any_cell_in_it,
    test_the_keys_of_some_columns_come_whichever_of_them_has_a_cell,
    test_the_least_versions_outlive_the_ttl,
    test_the_longest_row_key_is_read_in_pieces_too,
    test_to_look_for_words_in_an_unknown_family_is_refused,
    test_to_read_an_unknown_family_is_refused,
    test_two_scans_of_one_store_run_side_by_side,
)

from store_differences import on_thrift2

pytestmark = on_thrift2
