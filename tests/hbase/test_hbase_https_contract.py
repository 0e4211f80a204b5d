"""A part of the contract of stores, over HBase's own gateways by TLS: what depends on how replies come."""

from __future__ import annotations

import pytest
from test_store_contract import (  # noqa: F401 - tests, which run here on another store
    property_examples,
    test_a_backward_scan_gives_the_same_rows,
    test_a_bad_mutation_is_refused_and_spoils_no_other,
    test_a_closed_store_says_so,
    test_a_delete_of_a_row_removes_all_cells_at_or_below_its_timestamp,
    test_a_dropped_table_is_gone_with_its_rows,
    test_a_long_scan_gives_each_row_once_and_in_order,
    test_a_missing_table_is_said_to_be_missing,
    test_a_range_includes_its_start_and_leaves_out_its_stop,
    test_a_refusal_names_the_table_and_the_family,
    test_a_row_comes_back_as_it_was_written,
    test_a_row_key_has_its_longest_length,
    test_a_row_of_many_columns_comes_whole,
    test_a_scan_goes_on_where_it_was_while_rows_come_and_go,
    test_a_scan_may_be_left_before_its_end,
    test_a_store_serves_many_threads,
    test_a_table_is_created_only_once,
    test_a_value_of_a_megabyte_comes_back_whole,
    test_a_wide_row_is_read_in_pieces,
    test_an_exact_delete_leaves_the_older_and_the_newer_cells,
    test_another_store_on_the_same_data_sees_what_was_written,
    test_first_rows_answer_each_range_by_itself,
    test_keys_qualifiers_and_values_are_any_bytes,
    test_many_mutations_of_one_row_in_one_call_take_effect_in_their_order,
    test_many_rows_are_read_at_once,
    test_reading_keeps_the_order_asked_for_with_doubles_and_gaps,
    test_rows_come_in_byte_order,
    test_rows_that_do_not_contain_the_words_are_left_out,
    test_two_scans_of_one_store_run_side_by_side,
)

pytestmark = [
    pytest.mark.hbase,
    pytest.mark.parametrize("adapter", ["hbase-https"], indirect=True, scope="session"),
]
