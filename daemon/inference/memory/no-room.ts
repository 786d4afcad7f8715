/** Error for a model that does not fit into memory now; the message states the reason. */
export class NoRoom extends Error {
  override name = 'NoRoom'
  /** False when it would not fit into the empty machine either. */
  readonly ever: boolean

  constructor(message: string, ever: boolean) {
    super(message)
    this.ever = ever
  }
}
