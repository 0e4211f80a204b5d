"""What is stored in one web table, brought into another one with other keys and cells, and compared with it."""
