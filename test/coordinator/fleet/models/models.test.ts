import t from 'tap'
import { type Cell, newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { observeModels } from '../../../../coordinator/fleet/cells/promised-models.ts'
import { createConfigs } from '../../../../coordinator/fleet/control/configs.ts'
import { Models } from '../../../../coordinator/fleet/models/models.ts'
import { observeUnlisted } from '../../../../coordinator/fleet/models/unlisted-models.ts'
import type { ModelChange } from '../../../../coordinator/fleet/models/write-model.ts'
import { Catalogue, SHIPPED_CATALOGUE } from '../../../../shared/catalogue.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import type { DesiredBody } from '../../../../shared/wire/desired.ts'
import {
  RegisteredModel,
  type RegisteredModels,
} from '../../../../shared/wire/registered-models.ts'
import type { EngineReport } from '../../../../shared/wire/telemetry.ts'
import { silent } from '../../../support/cell.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const BY = { actor: 'test' }
const MIB = 1024 * 1024
const about = { kind: 'chat', minimum_tier: 'free', context_length: 512 } as const
const configured = Catalogue.parse([{ ...about, id: 'configured:1b', weights: '/srv/a.gguf' }])
const entry = (id: string) => RegisteredModel.parse({ ...about, id, weights: '/srv/b.gguf' })

t.test('a model that one coordinator adds is known to another, and to the right cells', async t => {
  const folder = await temporaryFolder(t)
  const open = async () => {
    const store = await temporaryStore(t, folder, { pollMilliseconds: 20 })
    const { models, close } = await Models.open({
      runtime: systemRuntime,
      store,
      configured,
      now: () => 1,
      logger: silent,
    })
    t.teardown(close)
    return models
  }
  const [one, two] = [await open(), await open()]
  const add = (id: string, cells: string[]) =>
    one.change({ act: 'add', id, entry: entry(id), cells }, BY)
  await add('own:1b', ['cell_a'])
  await one.change({ act: 'alias', id: 'gpt-4o', aliasOf: 'own:1b' }, BY)
  await one.change({ act: 'alias', id: 'other', aliasOf: 'configured:1b' }, BY)
  await waitUntil('the other coordinator knows them', () => two.version === one.version)
  t.strictSame(
    two.catalogue.map(({ id, weights }) => [id, weights]),
    [
      ['configured:1b', '/srv/a.gguf'],
      ['own:1b', '/srv/b.gguf'],
      ['gpt-4o', '/srv/b.gguf'],
      ['other', '/srv/a.gguf'],
    ],
  )
  const other = { id: 'other', model: 'configured:1b' }
  t.match(two.settingsFor('cell_a'), {
    entries: [{ id: 'own:1b' }],
    aliases: [{ id: 'gpt-4o', model: 'own:1b' }, other],
  })
  t.strictSame(two.settingsFor('cell_b'), { entries: [], aliases: [other] })
  const chained = one.change({ act: 'alias', id: 'x', aliasOf: 'gpt-4o' }, BY)
  await t.rejects(chained, { code: 'invalid_request' })
  await t.rejects(two.change({ act: 'remove', id: 'own:1b' }, BY), { code: 'conflict' })
  for (const id of ['other', 'gpt-4o', 'own:1b']) await two.change({ act: 'remove', id }, BY)
  await waitUntil('the first coordinator knows that', () => one.list().length === 0)
  t.strictSame(one.catalogue, configured)
  t.equal(one.version, 6, 'versions grow with a removal too')
  t.equal(one.settingsFor('cell_a'), undefined)
})

t.test('an id with another meaning is refused, in the configuration too', async t => {
  const store = await temporaryStore(t, await temporaryFolder(t))
  const shipped = Catalogue.parse(SHIPPED_CATALOGUE)
  const { models, close } = await Models.open({
    store,
    configured: [...configured, ...shipped],
    now: () => 1,
    runtime: systemRuntime,
    logger: silent,
  })
  t.teardown(close)
  const refuse = (change: ModelChange, error: { code?: string; param?: string; message: RegExp }) =>
    t.rejects(models.change(change, BY), error)
  const reserved = { code: 'invalid_request', message: /^auto is reserved: .*choose another id$/ }
  await refuse({ act: 'add', id: 'auto', entry: entry('auto'), cells: [] }, reserved)
  const alias = { act: 'alias', id: 'auto', aliasOf: 'configured:1b' } as const
  await refuse(alias, { ...reserved, param: 'alias' })
  t.match(Catalogue.safeParse([{ ...configured[0], id: 'auto' }]).error?.issues, [
    { path: [0, 'id'], message: reserved.message },
  ])
  await models.change({ ...alias, id: 'gpt-4o' }, BY)
  await refuse(
    { ...alias, id: 'gpt-4o' },
    { code: 'conflict', message: /shoal models show gpt-4o/ },
  )
  await refuse(
    { act: 'remove', id: 'model-a:7b' },
    { message: /^model-a:7b is one of the shipped/ },
  )
  await refuse(
    { act: 'remove', id: 'configured:1b' },
    { message: /configuration file; take it out/ },
  )
})

t.test('a cell is sent no version without an earlier change of another coordinator', async t => {
  const folder = await temporaryFolder(t)
  const open = async () => {
    const store = await temporaryStore(t, folder)
    const now = () => 1
    const { models, close } = await Models.open({
      runtime: systemRuntime,
      store,
      configured,
      now,
      logger: silent,
    })
    const sent: DesiredBody[] = []
    const configs = await createConfigs({
      runtime: systemRuntime,
      store,
      models,
      signer: loneSigner(),
      tagsOf: async () => [],
      capability: () => CAPABILITY,
      here: () => ['cell_a'],
      publish: async (_cellId, desired) => void sent.push(desired),
      now,
      logger: silent,
    })
    t.teardown(async () => {
      await configs.close()
      await close()
    })
    return { store, models, configs, sent }
  }
  const [one, two] = [await open(), await open()]
  const configure = (level: string) =>
    one.configs.set({ scope: 'cell', name: 'cell_a', document: { log: { level } } }, BY)
  const add = (id: string) => one.models.change({ act: 'add', id, entry: entry(id), cells: [] }, BY)
  const listMissing = (): string[] =>
    two.sent.flatMap(({ version, document }) => {
      const { log, models } = document as { log?: { level: string }; models?: RegisteredModels }
      const has = [log?.level, ...(models?.entries ?? []).map(({ id }) => id)]
      const due = ['debug', 'first', 'second', 'warn'].slice(0, version)
      if (due.includes('warn')) due.shift()
      return due.filter(each => !has.includes(each)).map(each => `${version} lacks ${each}`)
    })
  for (const changes of [
    [() => configure('debug'), () => add('first')],
    [() => add('second'), () => configure('warn')],
  ]) {
    for (const change of changes) await change()
    await two.store.revisions.poll()
    const { version } = await one.configs.show('cell_a')
    await waitUntil('the other tells the cell', () => two.sent.at(-1)?.version === version)
  }
  t.strictSame(listMissing(), [])
  t.equal(two.sent.at(-1)?.version, 4)
  const listDownloads = () =>
    two.sent.flatMap(({ version, document }) => {
      const { downloads = 'on' } = document.models as RegisteredModels & object
      return version > 4 ? [[version, downloads]] : []
    })
  for (const egress of ['off', 'off', 'on'] as const) {
    await one.configs.setEgress(egress)
    await two.store.revisions.poll()
    const { version, document } = await one.configs.show('cell_a')
    t.strictSame(document, { log: { level: 'warn' } })
    await waitUntil('the other tells the cell', () => two.sent.at(-1)?.version === version)
  }
  const expected = [
    [5, 'off'],
    [6, 'on'],
  ]
  t.strictSame(listDownloads(), expected, 'egress is such a change')
  const log = { level: 'error' }
  await one.configs.set(
    { scope: 'fleet', name: 'all', document: { spool: { max_bytes: MIB } } },
    BY,
  )
  await two.configs.answerBirth('cell_a', 'birth')
  t.match(two.sent.at(-1), { version: 6, answers: 'birth' })
  await two.configs.set({ scope: 'cell', name: 'cell_a', document: { log } }, BY)
  await two.configs.answerBirth('cell_a', 'birth')
  await waitUntil('the cell is told', () => two.sent.at(-1)?.answers === undefined)
  const [whole] = two.sent.filter(({ version }) => version === 8)
  t.match(whole, { document: { log, spool: { max_bytes: MIB } } })
  t.strictSame(
    two.sent.filter(({ version }) => version === 7),
    [],
  )
  await one.models.change({ act: 'remove', id: 'first' }, BY)
  await two.configs.set({ scope: 'cell', name: 'cell_a', document: {} }, BY)
  await waitUntil('the cell is told again', () => two.sent.at(-1)?.version === 10)
  const last = two.sent.at(-1)?.document as { models: RegisteredModels } | undefined
  t.strictSame(
    last?.models.entries.map(({ id }) => id),
    ['second'],
  )
})

t.test('the alert of a model that no cell serves names the command that says why', t => {
  const promised = [
    { id: 'a', served: true },
    { id: 'b', served: false },
  ]
  t.match(
    [...observeModels(promised, [], false)],
    [{ rule: 'model_unserved', part: 'b', message: /shoal models show b says why$/ }],
  )
  t.end()
})

t.test('a list of models that no cell could be sent is refused', async t => {
  const store = await temporaryStore(t, await temporaryFolder(t))
  const { models, close } = await Models.open({
    runtime: systemRuntime,
    store,
    configured,
    now: () => 1,
    logger: silent,
  })
  t.teardown(close)
  const weights = `/srv/${'w'.repeat(1000)}.gguf`
  const note = '\u{1f41f}'.repeat(150)
  const addNext = (id: string) =>
    models.change({ act: 'add', id, entry: { ...entry(id), weights, note }, cells: [] }, BY)
  const fill = async (): Promise<void> => {
    for (let at = 0; at < 128; at++) await addNext(`m${at}`)
  }
  await t.rejects(fill(), { code: 'conflict', message: /of at most 131072; remove one first/ })
  const held = models.list().length
  t.ok(Buffer.byteLength(JSON.stringify(models.settingsFor('cell_a'))) <= 131072)
  await models.change({ act: 'remove', id: 'm0' }, BY)
  await addNext('after')
  t.equal(models.list().length, held)
})

const engine = (models: string[], weights: string): EngineReport => ({
  weights,
  kind: 'embedding',
  models,
  state: 'cold',
  slots: 1,
  slots_busy: 0,
  queued: 0,
  context_length: 512,
  restarts: 0,
})
const cellWith = (...engines: EngineReport[]): Cell => ({
  ...newCell('cell_a', 1),
  presence: 'ready',
  sample: { engines } as unknown as Cell['sample'] & object,
})

t.test('a cell that offers an unlisted model raises a warning with the command', t => {
  const warnings = (...engines: EngineReport[]) =>
    [...observeUnlisted([cellWith(...engines)], configured)].map(({ message }) => message)
  t.strictSame(warnings(engine(['configured:1b'], '/srv/a.gguf')), [])
  t.match(warnings(engine(['configured:1b', 'own:1b'], '/srv/b.gguf')), [
    /: shoal models add own:1b --path \/srv\/b\.gguf --kind embedding --on cell_a$/,
  ])
  t.match(warnings(engine(['own:1b'], "/srv/it's; rm -rf x.gguf")), [
    "--path '/srv/it'\\''s; rm -rf x.gguf' --kind",
  ])
  for (const [id, weights] of [
    ['$(reboot)', '/srv/b.gguf'],
    ['own:1b', 'cut/at/its/beginning.gguf'],
  ] as const)
    t.match(warnings(engine([id], weights)), [/add it to the catalogue, or take it out/])
  const away = { ...cellWith(engine(['own:1b'], '/srv/b.gguf')), presence: 'dead' as const }
  t.match([...observeUnlisted([away], configured)], [{ state: 'hold', part: undefined }])
  t.end()
})
