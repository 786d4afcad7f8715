import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import mqtt from 'mqtt-packet'
import t from 'tap'
import { guardSocket, PacketMeter } from '../../../../coordinator/fleet/broker/guard.ts'

t.test('the packet meter', async t => {
  t.test('follows real packets however they are split', async t => {
    const sizes = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 8 })
    const cuts = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 50 })
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(sizes, cuts, (sizes, cuts) => {
          const bytes = Buffer.concat(
            sizes.map(size =>
              mqtt.generate({
                cmd: 'publish',
                topic: 'a/b',
                payload: Buffer.alloc(size),
                qos: 0,
                retain: false,
                dup: false,
              }),
            ),
          )
          const meter = new PacketMeter()
          for (let at = 0, cut = 0; at < bytes.length; cut++) {
            const piece = bytes.subarray(at, at + (cuts[cut % cuts.length] ?? 1))
            if (meter.feed(piece, 4000) !== undefined) return false
            at += piece.length
          }
          return true
        }),
        { numRuns: 300 },
      ),
    )
  })

  for (const [title, bytes, limit, violation] of [
    ['a packet of the largest size passes', [0x30, 0xff, 0x01], 255, undefined],
    ['one byte more is cut', [0x30, 0x80, 0x02], 255, 'packet_too_large'],
    [
      '200 MB are cut by their header alone',
      [0x30, 0x80, 0x84, 0xaf, 0x5f],
      262_144,
      'packet_too_large',
    ],
    ['a length of five bytes is malformed', [0x30, 0x80, 0x80, 0x80, 0x80, 0x01], 1e9, 'malformed'],
  ] as const)
    t.test(title, async t => {
      t.equal(new PacketMeter().feed(Uint8Array.from(bytes), limit), violation)
    })
})

t.test(
  'the guard throttles a peer that is ahead, loses nothing, and writes in one piece',
  async t => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [socket] = (await once(server, 'connection')) as [Socket]
    const guarded = guardSocket(socket, {
      maxPacketBytes: 1000,
      bytes: { perSecond: 1e9, burst: 1e9 },
      packets: { perSecond: 1000, burst: 5 },
      maxWaitMs: 1000,
      nowMs: () => 0,
      onActivity: () => {},
      onViolation: () => t.fail('it must not be cut off'),
    })
    let read = 0
    guarded.on('data', piece => {
      read += piece.length
    })
    const pings = Buffer.alloc(100, Buffer.from([0xc0, 0]))
    client.write(pings)
    await once(guarded, 'data')
    t.ok(socket.isPaused())
    await once(socket, 'resume')
    t.equal(read, pings.length)

    guarded.cork()
    guarded.write('one ')
    guarded.write('two')
    guarded.uncork()
    const [piece] = await once(client, 'data')
    t.equal(String(piece), 'one two')
    client.destroy()
  },
)

t.test('a peer that sends without a pause takes turns with the other sockets', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = (await once(server, 'connection')) as [Socket]
  const pings = Buffer.alloc(384 * 1024, Buffer.from([0xc0, 0]))
  await new Promise(resolve => client.write(pings, resolve))

  const guarded = guardSocket(socket, {
    maxPacketBytes: 1000,
    bytes: { perSecond: 1e9, burst: 1e9 },
    packets: { perSecond: 1e9, burst: 1e9 },
    maxWaitMs: 1000,
    nowMs: () => 0,
    onActivity: () => {},
    onViolation: () => t.fail('it must not be cut off'),
  })
  let [read, readThisTurn, mostInOneTurn] = [0, 0, 0]
  guarded.on('data', piece => {
    read += piece.length
    readThisTurn += piece.length
  })
  while (read < pings.length) {
    await setImmediate()
    mostInOneTurn = Math.max(mostInOneTurn, readThisTurn)
    readThisTurn = 0
  }
  client.destroy()
  t.ok(mostInOneTurn <= 128 * 1024, `${mostInOneTurn} bytes in one turn`)
})

t.test('the guard disconnects a socket whose packet is too large and reports it once', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const violations: string[] = []
  const guarded = guardSocket(socket, {
    maxPacketBytes: 1000,
    bytes: { perSecond: 1e9, burst: 1e9 },
    packets: { perSecond: 1e9, burst: 1e9 },
    maxWaitMs: 1000,
    nowMs: () => 0,
    onActivity: () => {},
    onViolation: violation => violations.push(violation),
  })
  client.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]))
  await once(client, 'close')
  t.strictSame(violations, ['packet_too_large'])
  t.ok(guarded.destroyed)
})
