"""Full text: what is indexed of a page, how writers keep it, and how it is filled and mended."""
