import t from 'tap'
import { tellOutcome } from '../../../daemon/services/inference.ts'
import type { EngineReport, ModelState } from '../../../shared/wire/telemetry.ts'

t.test('the log states which models are loaded', async t => {
  for (const [title, states, expected] of [
    ['all are loaded', ['ready', 'ready'], 'info: models are loaded'],
    ['one has failed', ['ready', 'failed'], 'warn: not all models are loaded'],
    ['all have failed', ['failed'], 'warn: not all models are loaded'],
    ['one has failed and the others wait', ['failed', 'cold'], 'warn: not all models are loaded'],
    [
      'they wait for their first request',
      ['cold', 'cold'],
      'info: models are loaded on their first request',
    ],
    ['there is none', [], 'info: models are loaded'],
  ] as [string, ModelState[], string][]) {
    const lines: string[] = []
    const log = (level: string) => (_fields: unknown, message: string) =>
      void lines.push(`${level}: ${message}`)
    const reports = states.map((state, n) => ({ state, weights: `${n}` }) as EngineReport)
    tellOutcome(reports, { info: log('info'), warn: log('warn') } as never)
    t.strictSame(lines, [expected], title)
  }
})
