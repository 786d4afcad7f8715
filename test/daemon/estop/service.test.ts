import t from 'tap'
import { EstopService } from '../../../daemon/services/estop.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import { type Envelope, envelope } from '../../../shared/wire/envelope.ts'
import {
  type EngagedStop,
  type EstopBody,
  EstoppedBody,
  isGenuineEstopped,
  signEstop,
} from '../../../shared/wire/estop.ts'
import { silent } from '../../support/cell.ts'
import { DEV_A } from '../../support/device-ids.ts'
import { CELL, cellWith, engaged, NOW } from './scene.ts'

const coordinator = createSigner(generatePrivateKey())
const cell = createSigner(generatePrivateKey())

const document = (changes: Partial<EstopBody> = {}, signer = coordinator): EstopBody =>
  signEstop(
    { version: 1, cell_id: CELL, engaged: [engaged()], released: [], issued_at: NOW, ...changes },
    signer,
  )

/** The service on an uplink that the test plays. */
const service = async () => {
  const at = await cellWith()
  const reports: EstoppedBody[] = []
  const keep = async (_name: string, body: unknown): Promise<void> =>
    void reports.push(EstoppedBody.parse(JSON.parse(JSON.stringify(body))))
  const hears: { message?: (message: Envelope) => void; ready?: (session: object) => void } = {}
  const stop = new AbortController()
  await new EstopService({
    cellId: CELL,
    estop: at.estop,
    uplink: {
      on: (_name, listener) => {
        hears.message = message => listener(message, 'rep_one')
        return () => {}
      },
      onReady: listener => {
        hears.ready = listener as never
        return () => {}
      },
      publishToAll: keep,
    },
    signer: cell,
    listTrustedKeys: () => [coordinator.publicKey],
    now: () => NOW,
    logger: silent,
    wait: (_ms, signal) =>
      new Promise(resolve => signal.addEventListener('abort', () => resolve())),
  }).start({ signal: stop.signal, fail: () => {} })
  const hear = async (body: unknown): Promise<void> => {
    hears.message?.(envelope('coordinator', 1, 'estop', body))
    await new Promise(resolve => setTimeout(resolve))
  }
  const connect = () => hears.ready?.({ publish: keep })
  return { ...at, hear, connect, reports, latchedIds: () => idsOf(reports.at(-1)?.latched) }
}

const idsOf = (stops: readonly EngagedStop[] = []) => stops.map(({ estop_id }) => estop_id)

t.test('a document is answered with what is latched, signed, once it is on the disk', async t => {
  const { hear, reports, latchedIds, disk } = await service()
  const { promise, resolve } = Promise.withResolvers<void>()
  disk.wait = promise
  const body = document()
  await hear(body)
  t.strictSame(reports, [], 'nothing is confirmed before the disk has it')
  resolve()
  await hear(body)
  t.strictSame(latchedIds(), idsOf(body.engaged))
  for (const report of reports) t.ok(await isGenuineEstopped(report, cell.publicKey))
  t.match(reports.at(-1), { version: 1, cell_id: CELL })
})

t.test('a document for several cells is obeyed', async t => {
  const { hear, latchedIds } = await service()
  const { cell_id: _, key_id: _key, signature: _signature, ...body } = document()
  await hear(signEstop(body, coordinator))
  t.strictSame(latchedIds(), idsOf(body.engaged))
})

t.test('a document that comes again is answered again', async t => {
  const { hear, reports } = await service()
  const body = document()
  await hear(body)
  const before = reports.length
  await hear(body)
  t.ok(reports.length > before)
})

t.test('a document that the coordinator did not sign for this cell changes nothing', async t => {
  const good = document()
  for (const [title, body] of [
    ['another key', document({}, createSigner(generatePrivateKey()))],
    ['another key with the name of the right one', { ...document({}, cell), key_id: good.key_id }],
    ['another cell', document({ cell_id: newId('cell') })],
    ['a changed stop', { ...good, engaged: [engaged({ scope: 'device', target: DEV_A })] }],
    ['a changed version', { ...good, version: 9 }],
    ['a field that was added', { ...good, also: 1 }],
    ['no signature', { ...good, signature: undefined }],
    ['nothing', null],
  ] as const)
    t.test(title, async t => {
      const { hear, reports, estop } = await service()
      await hear(body)
      t.strictSame(estop.listStops(), [])
      t.strictSame(reports, [])
      await hear(good)
      t.equal(reports.length, 1, 'the next genuine one is obeyed')
    })
})

t.test('a local stop is reported at once, and again at the next connect', async t => {
  const { estop, connect, reports } = await service()
  connect()
  t.strictSame(reports, [], 'a cell without stops reports nothing')
  await estop.engage({ reason: 'smoke', by: 'local:ann' })
  connect()
  t.match(reports, [{ latched: [{ is_local: true, reason: 'smoke' }] }, { latched: [{}] }])
  await estop.release({ reason: 'done', by: 'local:ann' })
  t.match(reports.at(-1), { latched: [], released: [{ reason: 'done', released_by: 'local:ann' }] })
})
