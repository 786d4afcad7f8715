import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { createToken } from '../../../../coordinator/fleet/enrolment/join-tokens.ts'
import type { CloudEvent } from '../../../../coordinator/kernel/events/bus.ts'
import { HEADER_BOOT_ID } from '../../../../shared/wire/link.ts'
import { busRig, makeEmbeddedBus } from '../../../support/bus.ts'
import { openScene } from '../../../support/coordinator.ts'
import { BY } from '../../kernel/store/temporary.ts'

t.test('a daemon that comes back before its old connection is gone is no takeover', async t => {
  const { takeovers, dial } = await busRig(t, makeEmbeddedBus)
  const daemon = { [HEADER_BOOT_ID]: 'a'.repeat(32) }
  for (let n = 0; n < 3; n++) await dial('cell_a', daemon)
  t.strictSame(takeovers, [])
  await dial('cell_a', { [HEADER_BOOT_ID]: 'b'.repeat(32) })
  t.strictSame(takeovers, [{ cellId: 'cell_a' }], 'another start of it is one')
})

t.test('a takeover by a second connection of a cell is published as an event', async t => {
  const { admission, bus, close, events, store } = await openScene(t)
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 1 }, BY)
  const { cell_id } = await admission.enrol({ token: secret, name: 'n' })
  const server = createServer(socket => bus.handle(socket, cell_id)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets: Socket[] = []
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await close()
  })
  const dial = () => sockets.push(connect((server.address() as AddressInfo).port, '127.0.0.1'))
  const seen: CloudEvent[] = []
  const told = new Promise<void>(resolve =>
    events.subscribe('shoal.cell.takeover', event => {
      seen.push(event)
      resolve()
    }),
  )
  dial()
  await once(server, 'connection')
  t.strictSame(seen, [], 'the first connection is none')
  dial()
  await told
  t.match(seen, [{ subject: cell_id, data: { address: /127\.0\.0\.1/, before: /127\.0\.0\.1/ } }])
})
