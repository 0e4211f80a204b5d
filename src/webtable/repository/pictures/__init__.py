"""Answers as pictures: functions of values that were counted already, by matplotlib, which only they import."""
