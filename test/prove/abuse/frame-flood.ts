import type { Socket } from 'node:net'
import { FLAG, FRAME, FrameReader } from '../../../coordinator/gateway/link/frames.ts'
import { frame, settings, uint32 } from '../../coordinator/gateway/link/raw-cell.ts'

const PREFACE_BYTES = 24
const FRAMES_PER_WRITE = 2000

/** Frames that are legal and do nothing: windows that grow by one byte, and settings again. */
const IDLE = Buffer.concat(
  Array.from({ length: FRAMES_PER_WRITE }, (_, n) =>
    n % 100 === 0 ? settings() : frame(FRAME.windowUpdate, 0, 0, uint32(1)),
  ),
)

/** A data plane that answers pings and otherwise sends idle frames as fast as they are taken. */
export const floodFrames = (socket: Socket): void => {
  const reader = new FrameReader({
    handleFrame: (type, flags, _id, bytes, start, end) => {
      if (type === FRAME.ping && (flags & FLAG.ack) === 0)
        socket.write(frame(FRAME.ping, FLAG.ack, 0, Buffer.from(bytes.subarray(start, end))))
      return false
    },
  })
  let left = PREFACE_BYTES
  socket.on('data', (piece: Buffer) => {
    const skipped = Math.min(left, piece.length)
    left -= skipped
    reader.read(piece.subarray(skipped))
  })
  socket.resume()
  socket.write(settings())
  const pour = (): void => {
    while (!socket.destroyed && socket.write(IDLE));
  }
  socket.on('drain', () => setImmediate(pour))
  pour()
}
