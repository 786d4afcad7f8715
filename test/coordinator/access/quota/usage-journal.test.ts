import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createUsage, type NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import { journalUsage } from '../../../../coordinator/access/quota/usage-journal.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const row = (requestId: string, other: Partial<NewUsage> = {}): NewUsage => ({
  at: 1000,
  key_id: 'k1',
  tenant_id: 'one',
  model: 'model-a:7b',
  cell_id: 'cell_1',
  route: '/v1/chat/completions',
  status: 'ok',
  prompt_tokens: 3,
  cached_tokens: 0,
  completion_tokens: 5,
  duration_ms: 20,
  request_id: requestId,
  ...other,
})
const EVER = { from: 0, to: 1e15 }

t.test('usage in the journal', async t => {
  t.test('is part of the sums at once, and in the table once settled', async t => {
    const store = await temporaryStore(t)
    const stateDir = await temporaryFolder(t)
    const usage = await journalUsage(createUsage(store), {
      stateDir,
      logger: silent,
      runtime: systemRuntime,
    })
    t.teardown(() => usage.close())
    await Promise.all(Array.from({ length: 100 }, (_, n) => usage.record(row(`r${n}`))))
    t.match(await usage.sums(EVER), { requests: 100, completionTokens: 500 })
    await usage.record(row('last', { prompt_tokens: null }))
    await usage.settle()
    const rows = await store.records.read.selectFrom('usage').selectAll().execute()
    t.equal(rows.length, 101)
    t.match(rows.at(-1), row('last', { prompt_tokens: null }))
  })

  t.test('of a busy second is written in slices', async t => {
    const store = await temporaryStore(t)
    const stateDir = await temporaryFolder(t)
    const plain = createUsage(store)
    const slices: number[] = []
    const recordRows: typeof plain.recordRows = rows => {
      slices.push(rows.length)
      return plain.recordRows(rows)
    }
    const usage = await journalUsage(
      { ...plain, recordRows },
      { stateDir, logger: silent, runtime: systemRuntime },
    )
    t.teardown(() => usage.close())
    await Promise.all(Array.from({ length: 2000 }, (_, n) => usage.record(row(`r${n}`))))
    await usage.settle()
    t.match(await usage.sums(EVER), { requests: 2000 })
    t.ok(slices.length > 1 && Math.max(...slices) <= 256, `slices of ${slices.join(', ')} rows`)
  })

  t.test('that arrives twice after a crash is one row', async t => {
    const store = await temporaryStore(t)
    const usage = createUsage(store)
    const same = { id: 'use_1', ...row('r1') }
    await usage.record(same)
    await usage.record(same)
    t.match(await usage.sums(EVER), { requests: 1 })
  })

  t.test('waits while the disk accepts no writes', async t => {
    const store = await temporaryStore(t)
    const stateDir = await temporaryFolder(t)
    const usage = await journalUsage(createUsage(store), {
      stateDir,
      logger: silent,
      runtime: systemRuntime,
    })
    t.teardown(() => usage.close())
    const folder = join(stateDir, 'usage-journal')
    await rename(folder, `${folder}-away`)
    await usage.record(row('r1'))
    await usage.record(row('r2'))
    await t.rejects(usage.sums(EVER), { code: 'store_unavailable' }, 'no sum without them')
    await t.rejects(usage.settle(), { message: '2 rows of usage wait for the disk' })
    await rename(`${folder}-away`, folder)
    t.match(await usage.sums(EVER), { requests: 2 })
  })

  t.test('that waits for the disk is reported once, however often it is tried', async t => {
    const store = await temporaryStore(t)
    const stateDir = await temporaryFolder(t)
    const told: string[] = []
    const warn = (_about: unknown, text: string): void => void told.push(text)
    const logger = { ...silent, warn: warn as typeof silent.warn }
    const usage = await journalUsage(createUsage(store), {
      stateDir,
      logger,
      runtime: systemRuntime,
    })
    t.teardown(() => usage.close())
    const folder = join(stateDir, 'usage-journal')
    await rename(folder, `${folder}-away`)
    await usage.record(row('r1'))
    for (const _ of [1, 2, 3]) await t.rejects(usage.settle())
    t.strictSame(told, ['usage waits in memory for the disk'])
    await rename(`${folder}-away`, folder)
    await usage.settle()
  })

  t.test('with fractional numbers is refused at once', async t => {
    const store = await temporaryStore(t)
    const stateDir = await temporaryFolder(t)
    const usage = await journalUsage(createUsage(store), {
      stateDir,
      logger: silent,
      runtime: systemRuntime,
    })
    t.teardown(() => usage.close())
    await t.rejects(usage.record(row('bad', { prompt_tokens: 0.5 })), TypeError)
    t.match(await usage.sums(EVER), { requests: 0 })
  })

  t.test('that the table rejects does not affect other rows', async t => {
    const store = await temporaryStore(t)
    const stateDir = await temporaryFolder(t)
    const plain = createUsage(store)
    const usage = await journalUsage(plain, { stateDir, logger: silent, runtime: systemRuntime })
    t.teardown(() => usage.close())
    const wrong = { model: null } as unknown as Partial<NewUsage>
    await Promise.all([usage.record(row('r1')), usage.record(row('r2', wrong))])
    t.match(await usage.sums(EVER), { requests: 1 })
  })
})
