import type { CellStream } from '../../cells/cell-link.ts'

/** Reads the answer to a probe in place of a client: of a stream, its first event is enough. */
export class ProbeReader {
  hasBegun = false
  readonly isStalled = false

  get isGone(): boolean {
    return this.hasBegun
  }

  start(): void {}

  drop(): void {}

  write(_piece: Buffer, from: CellStream): void {
    this.hasBegun = true
    from.cancel()
  }
}
