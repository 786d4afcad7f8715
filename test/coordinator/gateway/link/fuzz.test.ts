import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { LinkSession } from '../../../../coordinator/gateway/link/link-session.ts'
import { field, frame, OK, settings } from './raw-cell.ts'

/** The part of a socket that a session uses. */
class Wire extends EventEmitter {
  destroyed = false
  cork(): void {}
  uncork(): void {}
  write(): boolean {
    return true
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

/** Open streams, one that was never opened, one of the cell's own, and the session. */
const anyId = fc.constantFrom(0, 1, 1, 1, 3, 3, 5, 7, 9, 2)
const anyPayload = fc.oneof(
  fc.constantFrom(
    OK,
    OK + field('a', 'b'),
    field(':status', '103'),
    '',
    '00000001',
    '00'.repeat(8),
  ),
  fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes).toString('hex')),
)
const wildFrame = fc
  .tuple(
    fc.integer({ min: 0, max: 10 }),
    fc.oneof(fc.constantFrom(0, 1, 4, 5), fc.integer({ min: 0, max: 255 })),
    anyId,
    anyPayload,
  )
  .map(([type, flags, id, payload]) => frame(type, flags, id, payload))

/** Frames that a cell sends, though not in this order. */
const goodFrame = fc
  .tuple(
    fc.constantFrom(1, 3, 5, 7),
    fc.constantFrom([1, 4, OK], [1, 5, OK], [0, 0, 'aabb'], [0, 1, 'aa'], [
      1,
      5,
      field('a', 'b'),
    ] as const),
  )
  .map(([id, [type, flags, payload]]) =>
    frame(type as number, flags as number, id, payload as string),
  )
const IN_ORDER = /^(head (data )*(trailers )?)?closed$/

const anyFrame = fc.oneof({ weight: 19, arbitrary: goodFrame }, { weight: 1, arbitrary: wildFrame })

t.test(
  'every request hears at most one head and exactly one end, whatever a cell sends',
  async t => {
    const faults: string[] = []
    let whole = 0
    let cut = 0
    fc.assert(
      fc.property(
        fc.array(anyFrame, { minLength: 1, maxLength: 40 }),
        fc.boolean(),
        (frames, isOne) => {
          const wire = new Wire()
          const ended: number[] = []
          const events = {
            onReady() {},
            onLeaving() {},
            onPong() {},
            onClosed: () => ended.push(1),
          }
          const session = new LinkSession(wire as unknown as Socket, events)
          wire.emit('data', settings())
          const heard = Array.from({ length: 4 }, (_, i) => {
            const calls: string[] = []
            const stream = session.request(
              { method: 'POST', path: '/', body: Buffer.alloc(i * 50_000) },
              {
                onHead: () => calls.push('head'),
                onData: () => calls.push('data') > 0,
                onTrailers: () => calls.push('trailers'),
                onClose: isWhole => {
                  calls.push('closed')
                  if (isWhole) whole++
                  else cut++
                },
              },
            )
            if (i === 3) stream.cancel()
            return calls
          })
          for (const piece of isOne ? [Buffer.concat(frames)] : frames) wire.emit('data', piece)
          session.destroy()
          if (ended.length !== 1) faults.push(`${ended.length} ends`)
          for (const calls of heard)
            if (!IN_ORDER.test(calls.join(' '))) faults.push(calls.join(' '))
        },
      ),
      { numRuns: 2000 },
    )
    t.strictSame(faults, [])
    t.ok(whole > 0 && cut > 0, `${whole} whole, ${cut} cut`)
  },
)
