import t from 'tap'
import { runConformance } from '../../../conformance/mcp/run.ts'

t.test('the endpoint supports all that the revision of 2026-07-28 requires', async t => {
  const { code, output } = await runConformance('2026-07-28')
  t.equal(code, 0, output)
})

t.test('the endpoint supports all of the revision of 2025-11-25 that needs no session', async t => {
  const { code, output } = await runConformance('2025-11-25')
  t.equal(code, 0, output)
})
