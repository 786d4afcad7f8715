import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Budgets, type ListedBudget } from '../../coordinator/kernel/budgets/budgets.ts'
import { LimitsConfig } from '../../coordinator/kernel/budgets/limits-config.ts'

/* docs/limits.md names every budget there is, with its defaults. */

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'limits.md'), 'utf8')

const MIB = 1024 * 1024

const printAmount = (name: string, amount: number): string =>
  name.endsWith('_bytes') && amount >= MIB ? `${amount / MIB} MiB` : amount.toLocaleString('en-US')

const formatBudgetRow = ({ name, bounds, atBound, budget: { limits } }: ListedBudget): string => {
  const per = Object.entries(limits.per).map(([kind, most]) => `${kind} ${printAmount(name, most)}`)
  return `| \`${name}\` | ${printAmount(name, limits.total)} | ${per.join(', ')} | ${bounds} | ${atBound} |`
}

t.test('docs/limits.md lists every budget with its default bounds', async t => {
  const [budgets = ''] = page.split('\n## ')
  const rows = budgets.split('\n').filter(line => line.startsWith('| `'))
  t.strictSame(rows, new Budgets(LimitsConfig.parse({})).list.map(formatBudgetRow))
})
