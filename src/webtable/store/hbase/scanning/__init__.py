"""Scans of HBase by pieces that each stand alone, and the first rows of many ranges at once."""
