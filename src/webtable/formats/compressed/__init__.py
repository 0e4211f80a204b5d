"""Reading of compressed files: members are verified to their end, and reading goes on after a damaged one."""
