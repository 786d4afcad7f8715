import type { Readable } from 'node:stream'

const NEWLINE = 0x0a

/**
 * Calls `onLine` for each line of a stream, as UTF-8. At a line of more than `maxBytes`, which may
 * not be complete yet, the stream is destroyed and `onTooLong` is called.
 */
export const readLines = (
  stream: Readable,
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void = () => {},
): void => {
  let pieces: Buffer[] = []
  let bytes = 0
  const add = (piece: Buffer): void => {
    pieces.push(piece)
    bytes += piece.length
  }
  const takeLine = (): string => {
    const line = Buffer.concat(pieces).toString('utf8')
    pieces = []
    bytes = 0
    return line
  }
  const split = (chunk: Buffer): void => {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end))
      start = end + 1
      if (bytes > maxBytes) return
      onLine(takeLine())
    }
    add(chunk.subarray(start))
  }
  stream.on('data', chunk => {
    split(chunk)
    if (bytes <= maxBytes) return
    pieces = []
    stream.removeAllListeners('data')
    stream.destroy()
    onTooLong()
  })
}
