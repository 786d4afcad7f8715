import t from 'tap'
import { Budget } from '../../../../coordinator/kernel/budgets/budget.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { LimitsConfig } from '../../../../coordinator/kernel/budgets/limits-config.ts'
import { describeLimitTrouble } from '../../../../coordinator/kernel/budgets/limits-warning.ts'

const newBudget = () => new Budget({ total: 100, per: { key: 60, cell: 50 } })

t.test('a holder takes no more than its own bound, whatever is left for all', async t => {
  const budget = newBudget()
  const first = budget.open({ key: 'a', cell: 'one' })
  const second = budget.open({ key: 'a', cell: 'two' })
  t.ok(first.take(50))
  t.notOk(first.take(1), 'the cell has its bound')
  t.equal(first.refusedBy, 'cell')
  t.ok(second.take(10))
  t.notOk(second.take(1), 'the key has its bound')
  t.strictSame(
    [...budget.refusals],
    [
      ['total', 0],
      ['key', 1],
      ['cell', 1],
    ],
    'every bound is counted from the start',
  )
  t.equal(budget.used, 60)
})

t.test('a smaller holder gets room from the share without progress for longest', async t => {
  const budget = newBudget()
  const cut: string[] = []
  const openOf = (name: string, key: string, cell: string) => {
    const share = budget.open({ key, cell }, () => cut.push(name))
    share.take(30)
    return share
  }
  const slow = openOf('slow', 'greedy', 'one')
  const moving = openOf('moving', 'greedy', 'two')
  openOf('other', 'modest', 'three')
  slow.give(1)
  slow.force(1)
  const late = budget.open({ key: 'late', cell: 'four' })
  t.ok(late.take(20))
  t.strictSame(cut, ['moving'], 'the other share moved since')
  t.equal(moving.held, 0)
  t.equal(budget.used, 80)
  t.equal(budget.reclaimed, 1)
})

t.test('a holder stays known when its only share is reclaimed for a new one', async t => {
  const budget = new Budget({ total: 100, per: { key: 90, cell: 200 } })
  budget.open({ key: 'greedy', cell: 'one' }, () => {}).take(80)
  const late = budget.open({ key: 'late', cell: 'one' })
  t.ok(late.take(30))
  t.equal(budget.readUse('cell', 'one'), 30)
  late.close()
  t.equal(budget.readUse('cell', 'one'), 0)
})

t.test('the largest holder gets nothing from smaller ones', async t => {
  const budget = new Budget({ total: 100, per: { key: 90 } })
  budget.open({ key: 'modest' }, () => t.fail('reclaimed')).take(40)
  const greedy = budget.open({ key: 'greedy' })
  t.ok(greedy.take(60))
  t.notOk(greedy.take(1))
  t.equal(budget.refusals.get('total'), 1)
})

t.test('a share that cannot be reclaimed keeps what it holds', async t => {
  const budget = new Budget({ total: 100, per: { key: 90 } })
  const firm = budget.open({ key: 'firm' })
  firm.take(90)
  t.notOk(budget.open({ key: 'late' }).take(20))
  t.equal(firm.held, 90)
})

t.test('a share can leave out a kind of holder', async t => {
  const budget = newBudget()
  const share = budget.open({ key: 'a' })
  t.ok(share.take(55), 'no cell has a bound for it')
  t.equal(budget.readUse('key', 'a'), 55)
  t.equal(budget.largest().get('cell'), 0)
  const other = budget.open({ cell: 'one' })
  t.ok(other.take(45))
  t.notOk(other.take(1))
  t.equal(other.refusedBy, 'total')
})

t.test(
  'a holder that gave everything back is forgotten, and its share can be used again',
  async t => {
    const budget = newBudget()
    const share = budget.open({ key: 'a', cell: 'one' })
    share.force(70)
    t.equal(budget.readUse('key', 'a'), 70, 'an amount in use counts beyond the bound')
    t.strictSame(
      [...budget.largest()],
      [
        ['key', 70],
        ['cell', 70],
      ],
    )
    share.close()
    share.close()
    t.equal(budget.used, 0)
    t.strictSame(
      [...budget.largest()],
      [
        ['key', 0],
        ['cell', 0],
      ],
    )
    t.ok(share.take(50))
    t.equal(budget.readUse('cell', 'one'), 50)
  },
)

t.test('a budget whose newest share has room reclaims the oldest one instead', async t => {
  const budget = new Budget({ total: 3, per: { address: 2 }, isNewestFirst: true })
  const closed: string[] = []
  const admit = (name: string, address: string) =>
    budget.open({ address }, () => closed.push(name)).take(1)
  t.ok(admit('a1', 'a') && admit('a2', 'a') && admit('a3', 'a'))
  t.strictSame(closed, ['a1'], 'the address has its bound')
  t.ok(admit('b1', 'b') && admit('c1', 'c'))
  t.strictSame(closed, ['a1', 'a2'], 'the total is used up')
  t.ok(admit('d1', 'd'), 'although no holder is larger')
  t.equal(budget.used, 3)
  t.strictSame([...new Set(budget.refusals.values())], [0], 'nothing was refused')
})

t.test('limits that do not hold on the machine are described', async t => {
  const describe = (input: object, descriptors: number, memoryBytes = 1024 ** 3) => {
    const limits = LimitsConfig.parse(input)
    return describeLimitTrouble(limits, new Budgets(limits, descriptors), memoryBytes)
  }
  t.equal(describe({}, 65_536), undefined)
  t.match(describe({ connections: 1_000_000 }, 65_536), /^limits.connections is 49152 instead of/)
  t.match(describe({ connections: 20 }, 65_536), /_per_address is 15 instead of 1024/)
  t.match(describe({ held_bytes: 1024 ** 4 }, 65_536), /has 1073741824 bytes of memory/)
  for (const [input, message] of [
    [{ held_bytes: '256MiB' }, /in bytes/],
    [{ send_timeout_seconds: 0.001 }, /too_small/],
    [{ connections: 10_000_000 }, /too_big/],
  ] as const)
    t.throws(() => LimitsConfig.parse(input), { message })
})

t.test('a refused take visits no holder where nothing can be reclaimed', async t => {
  const budget = new Budget({ total: 10, per: { address: 100 } })
  const full = budget.open({ address: 'full' })
  full.take(10)
  const visits = t.capture(Map.prototype, 'values', Map.prototype.values)
  t.notOk(budget.open({ address: 'late' }).take(1))
  t.equal(visits().length, 0)
  full.close()
  const open = budget.open({ address: 'large' }, () => {})
  open.take(10)
  t.ok(budget.open({ address: 'late' }).take(1), 'the share that can be reclaimed is')
  t.equal(visits().length, 1)
})

t.test('a newest-first budget refuses a take for which only firm shares could go', async t => {
  const budget = new Budget({ total: 3, per: { address: 2 }, isNewestFirst: true })
  const firm = budget.open({ address: 'a' })
  t.ok(firm.take(1))
  t.ok(budget.open({ address: 'a' }, () => {}).take(1))
  t.ok(budget.open({ address: 'a' }, () => {}).take(1), 'the other share goes')
  t.notOk(budget.open({ address: 'a' }, () => {}).take(2))
  t.match({ held: firm.held, refusals: budget.refusals.get('address') }, { held: 1, refusals: 1 })
})
