import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { acceptAudit } from '../../../../coordinator/kernel/audit/accept.ts'
import { restartSequence } from '../../../../coordinator/kernel/store/sequences.ts'
import { type Demo, openScene } from '../../../support/coordinator.ts'
import { signingOf } from '../../../support/secrets.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, notInFiles, temporaryFolder, testStore } from '../store/temporary.ts'
import { append, reopenStore, startGuard, tamper } from './guarding.ts'

interface Cut {
  stop: 'clean' | 'kill -9'
  /** The kept head is still there. */
  file: boolean
  /** A cell shows the head that it has witnessed. */
  cell: boolean
  /** The counter was set back to where the cut chain ends. */
  counter: 'left' | 'set back'
  /** First row that is gone: row 20 was signed while it ran, 21 to 23 came after. */
  from: 19 | 22
}

const FILES = ['ledger.db', 'ledger.db-wal', 'audit-head.json']

/** A coordinator's folder after its stop, and the head that a cell has. */
const runAndStop = async (t: Pick<Test, 'teardown'>, stop: Cut['stop']) => {
  const folder = await temporaryFolder(t)
  const store = await testStore(folder)
  await append(store, 20)
  const running = startGuard(store, folder)
  const witnessed = await running.signed
  await append(store, 3)
  // what the disk has at the instant of a kill
  const killed = await temporaryFolder(t)
  if (stop === 'kill -9')
    for (const name of FILES) copyFileSync(join(folder, name), join(killed, name))
  await running.stop()
  await store.close()
  return { folder: stop === 'clean' ? folder : killed, witnessed }
}

const isFrozen = async (folder: string): Promise<boolean> => {
  const store = await testStore(folder)
  const code = await append(store, 1).then(
    () => undefined,
    (error: { code?: string }) => error.code,
  )
  await store.close()
  return code === 'audit_broken'
}

/** How a cut shows at the first start, and whether it still does at the second, without the cell. */
const outcomeOf = async (t: Pick<Test, 'teardown'>, cut: Cut): Promise<string> => {
  const { folder, witnessed } = await runAndStop(t, cut.stop)
  await tamper(folder, async trx => {
    await trx.deleteFrom('audit').where('seq', '>=', cut.from).execute()
    if (cut.counter === 'set back') await restartSequence(trx, 'audit', cut.from - 1)
  })
  if (!cut.file) rmSync(join(folder, 'audit-head.json'))
  const store = await testStore(folder)
  const first = startGuard(store, folder)
  await first.guard.checked
  if (cut.cell) await first.guard.compareHead(witnessed, 'cell_1')
  const trouble = first.guard.trouble()
  await first.stop()
  await store.close()
  if (trouble === undefined) return 'unnoticed'
  const isMarked = await isFrozen(folder)
  const second = await reopenStore(folder)
  const again = second.guard.trouble()
  await second.store.close()
  const isReported = [first, second].every(({ events }) => events.includes('shoal.audit.broken'))
  return isMarked && isReported && again !== undefined ? 'frozen, reported, both times' : trouble
}

const FOUND = 'frozen, reported, both times'
const stops: readonly Cut['stop'][] = notInFiles ? ['clean'] : ['clean', 'kill -9']
const both = [true, false]

const outcomesOf = async (t: Pick<Test, 'teardown'>, cuts: readonly Cut[]) => {
  const outcomes: [Cut, string][] = []
  for (const cut of cuts) outcomes.push([cut, await outcomeOf(t, cut)])
  return outcomes
}

t.test('rows removed while the coordinator is down are found at each start', async t => {
  const cuts = stops.flatMap(stop =>
    both.flatMap(file =>
      both.map((cell): Cut => ({ stop, file, cell, counter: 'left', from: 22 })),
    ),
  )
  t.strictSame(
    await outcomesOf(t, cuts),
    cuts.map(cut => [cut, FOUND]),
  )
})

t.test('rows removed together with their counter are found by any external witness', async t => {
  const cuts = stops.flatMap(stop =>
    both.flatMap(file =>
      both.map((cell): Cut => ({ stop, file, cell, counter: 'set back', from: 19 })),
    ),
  )
  t.strictSame(
    await outcomesOf(t, cuts),
    // the whole store was rewritten, and nothing outside knows better: docs/audit.md says so
    cuts.map(cut => [cut, cut.file || cut.cell ? FOUND : 'unnoticed']),
  )
})

t.test('a clean stop also signs the rows of its last seconds', async t => {
  const cut = { stop: 'clean', file: true, cell: false, counter: 'set back', from: 22 } as const
  t.equal(await outcomeOf(t, cut), FOUND)
})

t.test('an audit that was cut is an alert without a cell, until it was accepted', async t => {
  const [folder, stateDir] = [await temporaryFolder(t), await temporaryFolder(t)]
  /** A coordinator on the store in the folder, after its first look at the audit. */
  const start = async () => {
    const store = await testStore(folder)
    const from = { store, demo: {} as Demo }
    const scene = await openScene(t, { from, config: { state_dir: stateDir } })
    const { audit, monitor, views, events } = scene
    await waitUntil('audit checked', () => audit.trouble() ?? views.audit.head())
    await monitor.lookForAlerts(store.ledger)
    await events.catchUp()
    const isSent = events.read(0).events.some(({ type }) => type === 'shoal.alert.raised')
    const close = async () => {
      await scene.close()
      await store.close()
    }
    return { alerts: views.monitor.alerts(), isSent, close }
  }
  const whole = await testStore(folder)
  await append(whole, 20)
  await whole.close()
  await tamper(folder, trx => trx.deleteFrom('audit').where('seq', '>=', 19).execute())

  const frozen = await start()
  const found = { rule: 'audit_broken', level: 'critical', cellId: undefined, message: /row 20/ }
  t.match(frozen.alerts, [found])
  t.ok(frozen.isSent)
  await frozen.close()

  const store = await testStore(folder)
  await acceptAudit(store.ledger, await signingOf(store, stateDir), 'rows were lost', BY)
  await store.close()
  const accepted = await start()
  t.match(accepted.alerts, [{ ...found, clearedAt: Number }])
  await accepted.close()
})
