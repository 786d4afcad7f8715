/** Who may ask: everybody, any key, or a key with one of the roles. */
export type Access = 'none' | 'key' | 'operator'

/** What asking does: looks, changes the coordinator's own data, or acts on the world. */
export type Effect = 'read' | 'write' | 'gated'
