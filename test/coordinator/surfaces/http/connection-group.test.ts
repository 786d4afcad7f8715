import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import t from 'tap'
import { Budget } from '../../../../coordinator/kernel/budgets/budget.ts'
import { Connection } from '../../../../coordinator/surfaces/http/connection.ts'
import { ConnectionGroup } from '../../../../coordinator/surfaces/http/connection-group.ts'

/** A group with room for `total` connections, whose clock the test moves. */
const rig = (total: number, address = total) => {
  const clock = { nowMs: 0 }
  const names = new Map<Connection, string>()
  const cut: (string | undefined)[] = []
  const group = new ConnectionGroup({
    budget: new Budget({ total, per: { address } }),
    nowMs: () => clock.nowMs,
    headersTimeoutMs: 5000,
    onMadeWay: connection => {
      cut.push(names.get(connection))
      connection.cut()
    },
  })
  const admit = (name: string, address = 'a'): Connection | undefined => {
    const socket = { once: () => {}, destroy: () => {} } as unknown as Socket
    const connection = group.admit(socket, { address, holders: { address }, handle: () => {} })
    if (connection !== undefined) names.set(connection, name)
    return connection
  }
  return { admit, clock, cut }
}

/** Begins a request; the returned function ends its answer. */
const begin = (connection: Connection | undefined): (() => void) => {
  let end = (): void => {}
  const on = (_event: string, onClose: () => void): void => {
    end = onClose
  }
  const response = { on, req: {} } as unknown as ServerResponse
  connection?.take(response.req, response)
  return end
}

t.test('of connections whose handshake may be under way, the newest makes way', async t => {
  const { admit, clock, cut } = rig(4)
  for (const name of ['1', '2', '3', '4', '5', '6']) admit(name)
  t.strictSame(cut, ['4', '5'])
  clock.nowMs = 6000
  admit('7')
  t.strictSame(cut, ['4', '5', '1'], 'the longest open one had its time')
})

t.test('idle connections of one key make way for another address', async t => {
  const { admit, clock, cut } = rig(4)
  for (const name of ['1', '2', '3']) {
    const connection = admit(name, 'greedy')
    if (connection !== undefined) connection.isKnown = true
  }
  clock.nowMs = 6000
  admit('new', 'b')
  admit('newer', 'c')
  t.strictSame(cut, ['1'])
  clock.nowMs = 12_000
  admit('newest', 'd')
  t.strictSame(cut, ['1', 'new'], 'unless others never sent a key')
})

t.test('of connections with a key, the one that was idle longest makes way', async t => {
  const { admit, clock, cut } = rig(3)
  const [oldest, other, newest] = ['1', '2', '3'].map(name => admit(name, 'busy'))
  for (const each of [oldest, other, newest]) if (each !== undefined) each.isKnown = true
  const end = begin(oldest)
  begin(newest)()
  clock.nowMs = 6000
  end()
  admit('new', 'b')
  t.strictSame(cut, ['2'])
  t.equal(oldest?.isIdle(), true, 'the oldest one was in use a moment ago')
})

t.test('a connection makes no way while the credential of a cell is checked', async t => {
  const { admit, clock, cut } = rig(2)
  admit('cell')?.beginUpgrade()
  admit('other')
  clock.nowMs = 6000
  admit('late')
  t.strictSame(cut, ['other'])
})

t.test('a flood does not search connections that were all in use a moment ago', async t => {
  const { admit, clock } = rig(100)
  for (let n = 0; n < 100; n++) begin(admit(`${n}`))
  const looks = t.capture(Connection.prototype, 'isIdle', Connection.prototype.isIdle)
  for (let n = 0; n < 1000; n++) t.equal(admit('late'), undefined)
  t.equal(looks().length, 100)
  clock.nowMs = 100
  admit('late')
  t.equal(looks().length, 100, 'one more search later')
})
