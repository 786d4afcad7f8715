import { join } from 'node:path'
import type { Test } from 'tap'
import { verifyAudit } from '../../../coordinator/kernel/audit/verify.ts'
import { openStore } from '../../../coordinator/kernel/store/store.ts'
import { shoal as runShoal } from '../../support/shoal-program.ts'
import type { TestStack } from '../../support/stack.ts'

interface Ran {
  code: number | null
  out: string
  json: Record<string, unknown>
  error: string
}

const jsonOf = (text: string): Record<string, unknown> =>
  text.startsWith('{') ? JSON.parse(text) : {}

export const testGates = async (t: Test, { url, keys, folder }: TestStack): Promise<void> => {
  const shoal = (key: string, ...args: string[]): Promise<Ran> => run(key, 'json', args)
  const run = async (key: string, format: string, args: string[]): Promise<Ran> => {
    const env = { HOME: folder, SHOAL_URL: url, SHOAL_KEY: key }
    const { code, out, err } = await runShoal(env, ['--format', format, ...args])
    return { code, out, json: jsonOf(out), error: err }
  }

  const gate = 'gate.major-release-approve'
  const plan = JSON.stringify({ release: '2.0.0', sha: 'abc' })
  const ask = (text: string) =>
    shoal(keys.operator, 'gate', 'request', gate, '--plan', text, '--summary', 'release 2.0.0')
  const use = (id: string, text: string) =>
    shoal(keys.operator, 'gate', 'consume', id, '--plan', text)

  const before = await shoal(keys.operator, 'gate', 'check', gate)
  t.equal(before.code, 75)
  t.match(before.json, { status: 'pending', request_id: null })

  const asked = await ask(plan)
  t.equal(asked.code, 0, asked.error)
  const id = String(asked.json.id)
  t.match(asked.json, { status: 'pending', approvals_missing: 2 })

  const own = await shoal(keys.operator, 'gate', 'approve', id)
  t.equal(own.code, 77)
  t.match(own.error, /cannot decide on your own request/)

  const watched = await run(keys.approver_a, 'text', ['gate', 'watch', '--once'])
  t.match(watched.out, /plan +\{"release":"2\.0\.0","sha":"abc"\}/)

  t.match((await shoal(keys.approver_a, 'gate', 'approve', id)).json, {
    status: 'pending',
    approvals_missing: 1,
  })
  t.equal((await shoal(keys.operator, 'gate', 'check', gate)).code, 75, 'one is not two')
  t.match((await shoal(keys.approver_a, 'gate', 'approve', id)).json, {
    status: 'pending',
    approvals_missing: 1,
    votes: [{ decision: 'approve' }],
  })

  t.match((await shoal(keys.approver_b, 'gate', 'approve', id)).json, { status: 'approved' })
  t.equal((await shoal(keys.operator, 'gate', 'check', gate)).code, 0)

  const changed = await use(id, '{"release":"2.0.0","sha":"other"}')
  t.equal(changed.code, 77)
  t.match(changed.error, /not the one that was approved/)

  const used = await use(id, plan)
  t.equal(used.code, 0, used.error)
  t.match(used.json, { state: 'consumed', approval: { request_id: id, gate_id: gate } })
  const again = await use(id, plan)
  t.equal(again.code, 77)
  t.match(again.error, /is consumed/)
  t.equal((await shoal(keys.operator, 'gate', 'check', gate)).code, 77)

  const client = await shoal(keys.pro, 'gate', 'list')
  t.equal(client.code, 77, 'a client reads no gates')

  await t.test('the audit records all events, also as text', async t => {
    const seen = await shoal(keys.operator, 'audit', 'query', '--last', '24h', '--action', 'gate.*')
    const rows = seen.json.rows as { action: string; subject: string; outcome: string }[]
    t.match(rows[0], { action: 'gate.consumed', subject: id, outcome: 'refused' }, 'newest first')
    const votes = rows.filter(row => row.action === 'gate.approve')
    t.strictSame(
      votes.map(({ outcome }) => outcome),
      ['done', 'done', 'refused'],
      'the vote of the requester is refused',
    )
    const wrong = await shoal(keys.operator, 'audit', 'query', '--last', 'yesterday')
    t.equal(wrong.code, 65)
    t.match(wrong.error, /last must be a time or an age: 30m/)

    const pages = ['audit', 'export', '--limit', '3', '--as', 'csv']
    const text = await run(keys.operator, 'text', pages)
    t.equal(text.code, 0, text.error)
    const lines = text.out.trimEnd().split('\r\n')
    const verified = await shoal(keys.operator, 'audit', 'verify')
    t.match(verified, { code: 0, json: { ok: true } })
    t.equal(lines.length - 1, Number(verified.json.rows), 'all pages, one header')
    t.match(lines[0], /^seq,at,actor/)
    const { seq, hash } = verified.json.head as { seq: number; hash: string }
    const beyond = ['--seq', String(seq + 1), '--hash', hash]
    const cut = await shoal(keys.operator, 'audit', 'verify', ...beyond)
    t.match(cut, { code: 65, json: { ok: false, reason: /cut off/ } })
  })

  const reading = await openStore(join(folder, 'coordinator'))
  t.match(await verifyAudit(reading.ledger), { ok: true })
  await reading.close()
}
