/** A model that does not fit into the memory now; the message says why, in plain words. */
export class NoRoom extends Error {
  override name = 'NoRoom'
  /** False when it would not fit into the empty machine either. */
  readonly ever: boolean

  constructor(message: string, ever: boolean) {
    super(message)
    this.ever = ever
  }
}
