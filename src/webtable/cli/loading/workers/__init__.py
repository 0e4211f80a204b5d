"""`ingest --workers`: files are parsed by processes, which write themselves where the store is faster for it.

chunks     what travels between the processes: some pages of a part, and what became of its records
storing    chunks into a writer, and which of them are stored
process    a worker: reads parts, and stores them or sends them
crew       the workers: started, given parts, and replaced where they die
intake     what workers send: stored where they do not, counted, noted in the journal
"""
