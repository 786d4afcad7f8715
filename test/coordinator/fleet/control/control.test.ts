import t from 'tap'
import type { Cell } from '../../../../coordinator/fleet/cells/cell.ts'
import { createControl } from '../../../../coordinator/fleet/control/control.ts'
import type { EnrolledCell } from '../../../../coordinator/fleet/enrolment/cell.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { withholdKeys } from '../../../../shared/wire/capability.ts'
import { DesiredBody, isGenuineDesired } from '../../../../shared/wire/desired.ts'
import { silent } from '../../../support/cell.ts'
import { soleReplica } from '../../../support/replicas.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

t.test('a tag of the join token takes precedence over one that the cell reports', async t => {
  const id = newId('cell')
  const live = { id, announce: { tags: ['mine', 'rack'] } } as unknown as Cell
  const { configs } = await createControl({
    store: await temporaryStore(t),
    replicas: soleReplica(),
    signer: createSigner(generatePrivateKey()),
    cells: { get: async () => ({ id, tags: ['site', 'rack'] }) as EnrolledCell },
    fleet: { cell: () => live, cells: () => [] },
    publish: async () => {},
    now: Date.now,
    runtime: systemRuntime,
    logger: silent,
  })
  for (const [name, level] of [
    ['mine', 'debug'],
    ['site', 'info'],
  ] as const)
    await configs.set({ scope: 'tag', name, document: { log: { level } } }, BY)
  const { tags, document } = await configs.show(id)
  t.strictSame(tags, ['mine', 'site', 'rack'])
  t.strictSame(document, { log: { level: 'info' } })
})

t.test('a cell receives its desired settings, signed for it alone', async t => {
  const id = newId('cell')
  const signer = createSigner(generatePrivateKey())
  const sent: unknown[] = []
  const { configs } = await createControl({
    store: await temporaryStore(t),
    replicas: soleReplica(),
    signer,
    cells: { get: async () => ({ id, tags: [] as string[] }) as EnrolledCell },
    fleet: { cell: () => undefined, cells: () => [] },
    publish: async (_name, _cellId, body) => void sent.push(body),
    now: () => 1234,
    runtime: systemRuntime,
    logger: silent,
  })
  await configs.set({ scope: 'cell', name: id, document: { log: { level: 'debug' } } }, BY)
  await configs.answerBirth(id, 'birth')
  const desired = DesiredBody.parse(JSON.parse(JSON.stringify(sent.at(-1))))
  t.match(desired, { version: 1, cell_id: id, answers: 'birth', issued_at: 1234 })
  t.ok(isGenuineDesired(desired, id, signer.publicKey))
  t.notOk(isGenuineDesired(desired, newId('cell'), signer.publicKey))
})

t.test('settings of one coordinator reach the cells of another, once', async t => {
  const id = newId('cell')
  const folder = await temporaryFolder(t)
  const open = async () => {
    const store = await temporaryStore(t, folder)
    const sent: DesiredBody[] = []
    const told = Promise.withResolvers<void>()
    const { configs } = await createControl({
      store,
      replicas: soleReplica(),
      signer: createSigner(generatePrivateKey()),
      cells: { get: async () => ({ id, tags: ['site'] as string[] }) as EnrolledCell },
      fleet: {
        cell: () => ({ id, presence: 'ready' }) as Cell,
        cells: () => [{ id, presence: 'ready' } as Cell],
      },
      publish: async (_name, _cellId, body) => {
        sent.push(body as DesiredBody)
        told.resolve()
      },
      now: () => 1234,
      runtime: systemRuntime,
      logger: silent,
    })
    return { store, configs, sent, told: told.promise }
  }
  const [one, two] = [await open(), await open()]
  await two.store.revisions.poll()
  await one.configs.set({ scope: 'tag', name: 'site', document: { log: { level: 'debug' } } }, BY)
  await two.store.revisions.poll()
  await Promise.all([one.told, two.told])
  await one.store.revisions.poll()
  t.match(await two.configs.show(id), { document: { log: { level: 'debug' } } })
  for (const { sent } of [one, two]) t.match(sent, [{ version: 1 }])
})

t.test('settings that cannot be read never leave a cell with looser ones', async t => {
  const folder = await temporaryFolder(t)
  const [held, free] = [newId('cell'), newId('cell')]
  const open = async () => {
    const store = await temporaryStore(t, folder)
    const sent = new Map<string, Record<string, unknown>>()
    const { configs } = await createControl({
      store,
      replicas: soleReplica(),
      signer: createSigner(generatePrivateKey()),
      cells: {
        get: async id => ({ id, tags: id === held ? ['arms'] : ([] as string[]) }) as EnrolledCell,
      },
      fleet: {
        cell: id => ({ id, presence: 'ready' }) as Cell,
        cells: () => [held, free].map(id => ({ id, presence: 'ready' }) as Cell),
      },
      publish: async (_name, id, body) => void sent.set(id, (body as DesiredBody).document),
      now: () => 1234,
      runtime: systemRuntime,
      logger: silent,
    })
    return { store, configs, sent }
  }
  const damage = (name: string, set: { document_json?: string; scope?: 'tag' }) =>
    store.ledger.free.write(trx =>
      trx.updateTable('configs').set(set).where('name', '=', name).execute(),
    )
  const { store, configs } = await open()
  await configs.set({ scope: 'tag', name: 'arms', document: { log: { level: 'info' } } }, BY)
  await configs.setEgress('on')
  for (const name of ['arms', 'egress']) await damage(name, { document_json: '{' })
  const second = await open()
  t.strictSame(second.configs.list(), [], 'lists leave them out')
  await second.configs.set(
    { scope: 'fleet', name: 'all', document: { log: { level: 'warn' } } },
    BY,
  )
  await t.rejects(second.configs.answerBirth(held, 'birth'), { code: 'internal', message: /arms/ })
  await waitUntil('the others receive the change', () => second.sent.has(free))
  t.notOk(second.sent.has(held), 'it keeps its settings')
  await second.configs.setEgress('off')
  t.match(second.configs.list(), [{ name: 'all' }, { name: 'egress', document: { egress: 'off' } }])
  await second.configs.set({ scope: 'tag', name: 'arms', document: {} }, BY)
  await waitUntil('it can be replaced', () => second.sent.has(held))
  const limited = { document_json: JSON.stringify({ envelopes: { fleet: {} } }) }
  await damage('arms', { scope: 'site' as 'tag', ...limited })
  const third = await open()
  await t.rejects(third.configs.show(free), { code: 'internal', message: /site arms/ })
  await damage('arms', { document_json: '{"log":{"level":"debug"}}' })
  const fourth = await open()
  t.match(await fourth.configs.show(free), { document: { log: { level: 'warn' } } })
  await damage('arms', limited)
  const fifth = await open()
  await t.rejects(fifth.configs.answerBirth(held, 'birth'), { code: 'internal' })
  await damage('arms', { scope: 'tag', document_json: '{' })
  await t.rejects(fifth.configs.show(held), { code: 'internal', message: /tag arms/ })
  await fifth.configs.answerBirth(free, 'birth')
  await damage('arms', { document_json: '{"log":{"level":"debug"}}' })
  t.match(await fifth.configs.show(held), { document: { log: { level: 'debug' } } })
  await waitUntil('a repaired document is sent', () => fifth.sent.has(held))
})

t.test('a cell is not sent settings that it does not support', async t => {
  const document = { log: { level: 'info' }, devices: { arm: {} } }
  const levels = { devices: 5 }
  t.strictSame(withholdKeys(document, levels, 4), { log: { level: 'info' } })
  t.strictSame(withholdKeys(document, levels, 5), document)
})
