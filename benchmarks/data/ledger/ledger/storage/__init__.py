from ledger.storage.store import FileStore, MemoryStore, Store
