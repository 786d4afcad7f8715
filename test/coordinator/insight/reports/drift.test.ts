import t from 'tap'
import { type DriftFacts, scanDrift } from '../../../../coordinator/insight/reports/drift.ts'
import type { SequenceFacts } from '../../../../coordinator/insight/reports/flow-drift.ts'

const DAY_MS = 86_400_000
const NOW = 1000 * DAY_MS
const none: DriftFacts = {
  cells: [],
  catalogue: [],
  undeclaredModels: [],
  configurations: [],
  documents: [],
  keys: [],
  sequences: [],
  now: NOW,
}
const cell = { id: 'a', isPresent: true, isDrained: false, isQuarantined: false }
const key = { id: 'k', createdAt: 0, lastUsedAt: NOW - 90 * DAY_MS, expiresAt: undefined }
const flow: SequenceFacts = {
  kind: 'flow',
  id: 'f',
  configured: ['a', 'b'],
  record: undefined,
  hasRegister: false,
  runs: { done: 1, failed: 1, open: 0 },
  strayRuns: [],
}
const gone = { ...flow, configured: undefined, runs: { done: 0, failed: 0, open: 0 } }
const active = { state: 'active', skills: ['a', 'b'] } as const

for (const [title, facts, expected] of [
  ['a connected cell', { cells: [cell] }, 'LEGIT'],
  ['a cell that is away', { cells: [{ ...cell, isPresent: false }] }, 'CRUFT'],
  ['a drained cell', { cells: [{ ...cell, isDrained: true }] }, 'LIVE_SHIM'],
  ['a cell in quarantine', { cells: [{ ...cell, isQuarantined: true }] }, 'LIVE_SHIM'],
  ['a served model', { catalogue: [{ id: 'm', isServed: true, requests: 0 }] }, 'LEGIT'],
  ['a model without a cell', { catalogue: [{ id: 'm', isServed: false, requests: 1 }] }, 'CRUFT'],
  [
    'a loaded model that the catalogue lacks',
    { undeclaredModels: [{ id: 'm', cellId: 'a', isLoaded: true }] },
    'PEARL',
  ],
  [
    'an offered model that the catalogue lacks',
    { undeclaredModels: [{ id: 'm', cellId: 'a', isLoaded: false }] },
    'CRUFT',
  ],
  [
    'settings that were applied',
    { configurations: [{ cellId: 'a', isApplied: true, reason: '' }] },
    'LEGIT',
  ],
  [
    'settings that are not in force',
    { configurations: [{ cellId: 'a', isApplied: false, reason: 'rolled_back' }] },
    'CRUFT',
  ],
  [
    'settings of a cell that is gone',
    { documents: [{ scope: 'cell', name: 'a', isUsed: false }] },
    'CRUFT',
  ],
  [
    'settings of one cell',
    { documents: [{ scope: 'cell', name: 'a', isUsed: true }] },
    'LIVE_SHIM',
  ],
  ['settings of the fleet', { documents: [{ scope: 'fleet', name: '', isUsed: true }] }, 'LEGIT'],
  ['a key that was used 90 days ago', { keys: [key] }, 'LEGIT'],
  [
    'a key that was used 91 days ago',
    { keys: [{ ...key, lastUsedAt: NOW - 91 * DAY_MS }] },
    'CRUFT',
  ],
  ['a key that was never used', { keys: [{ ...key, lastUsedAt: undefined }] }, 'CRUFT'],
  ['a temporary key', { keys: [{ ...key, expiresAt: NOW + 1 }] }, 'LIVE_SHIM'],
  ['a configured flow that ran', { sequences: [flow] }, 'LEGIT'],
  [
    'a configured flow that has not run',
    { sequences: [{ ...flow, runs: { done: 0, failed: 0, open: 0 } }] },
    'LEGIT',
  ],
  [
    'a flow as the register has it',
    { sequences: [{ ...flow, record: active, hasRegister: true }] },
    'LEGIT',
  ],
  [
    'a flow of which every run failed',
    { sequences: [{ ...flow, runs: { done: 0, failed: 1, open: 0 } }] },
    'CRUFT',
  ],
  [
    'an active record that is not configured',
    { sequences: [{ ...gone, record: active, hasRegister: true }] },
    'CRUFT',
  ],
  [
    'a retired flow that is still configured',
    { sequences: [{ ...flow, record: { ...active, state: 'retired' }, hasRegister: true }] },
    'CRUFT',
  ],
  [
    'a flow that left the configuration after its runs',
    { sequences: [{ ...gone, runs: { done: 1, failed: 0, open: 0 } }] },
    'CRUFT',
  ],
  [
    'a flow that runs and is not configured',
    { sequences: [{ ...gone, runs: { done: 1, failed: 0, open: 1 } }] },
    'PEARL',
  ],
  [
    'a flow that runs and the register lacks',
    { sequences: [{ ...flow, hasRegister: true }] },
    'PEARL',
  ],
  [
    'a run that keeps earlier steps',
    { sequences: [{ ...flow, strayRuns: ['run_1'] }] },
    'LIVE_SHIM',
  ],
  [
    'a flow whose steps are not those of the register',
    { sequences: [{ ...flow, record: { ...active, skills: ['b', 'a'] }, hasRegister: true }] },
    'LIVE_SHIM',
  ],
] as const satisfies [string, Partial<DriftFacts>, string][])
  t.test(`${title} is ${expected}`, async t => {
    const items = scanDrift({ ...none, ...facts })
    t.match(items, [{ class: expected, evidence: /./ }])
    t.equal(items.length, 1)
  })

t.test('a cell that has not reported its settings is left out', async t => {
  const configurations = [{ cellId: 'a', isApplied: undefined, reason: '' }]
  t.strictSame(scanDrift({ ...none, configurations }), [])
})

t.test('a planned flow that nobody has configured is left out', async t => {
  const record = { state: 'planned', skills: ['a'] } as const
  t.strictSame(scanDrift({ ...none, sequences: [{ ...gone, record, hasRegister: true }] }), [])
})
