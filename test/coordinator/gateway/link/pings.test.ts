import t from 'tap'
import { FLAG, FRAME } from '../../../../coordinator/gateway/link/frames.ts'
import { frame, rawCell, settings } from './raw-cell.ts'

const EVERY_MS = 50

t.test('an answer that arrived while the event loop was blocked is in time', async t => {
  const cell = await rawCell(t, { pingEveryMs: EVERY_MS })
  cell.send(settings())
  await cell.up
  const ping = await cell.next(FRAME.ping)
  cell.send(frame(FRAME.ping, FLAG.ack, 0, ping?.payload))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EVERY_MS * 2)
  const next = await cell.next(FRAME.ping)
  t.ok(next, 'the cell is pinged again')
  t.strictSame(cell.reasons, [])
})
