const created = new WeakMap<object, string[]>()

/**
 * Notes what a transaction creates, by id, so that a repetition of the interrupted call that it
 * belongs to finds it again.
 */
export const noteCreated = (trx: object, id: string): void => {
  created.set(trx, [...(created.get(trx) ?? []), id])
}

/** Ids that were noted for a transaction, in order. */
export const listCreated = (trx: object): readonly string[] => created.get(trx) ?? []
