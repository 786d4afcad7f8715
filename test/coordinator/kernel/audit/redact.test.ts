import t from 'tap'
import { KEY_PREFIX, newSecret, TOKEN_PREFIX } from '../../../../coordinator/access/keys/secret.ts'
import type { AuditRow } from '../../../../coordinator/kernel/audit/audit.table.ts'
import { appendAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { formatRows } from '../../../../coordinator/kernel/audit/export.ts'
import { redact } from '../../../../coordinator/kernel/audit/redact.ts'
import { auditRows } from '../../access/keys/fixtures.ts'
import { BY, temporaryStore } from '../store/temporary.ts'

const secrets = [newSecret(KEY_PREFIX).text, newSecret(TOKEN_PREFIX).text]

t.test('a secret never enters the audit, wherever it occurs', async t => {
  const store = await temporaryStore(t)
  for (const secret of secrets) {
    const details = {
      text: `key ${secret}!`,
      list: [{ deep: secret }],
      credential: 'abc',
      joined: `key_${secret}`,
      [secret]: 1,
      password: { value: 'abc' },
      token: ['abc'],
    }
    await store.ledger.sealed.write(trx =>
      appendAudit(trx, {
        ...BY,
        at: 1,
        action: 'test.secret',
        subject: 's',
        outcome: 'done',
        details,
      }),
    )
  }
  const text = JSON.stringify(await auditRows(store))
  for (const secret of [...secrets, '"abc"']) t.notOk(text.includes(secret))
  t.match(text, /key \[redacted\]!/)
})

t.test('prompts and answers are recorded as length and digest', t => {
  const { prompt, messages, max_tokens } = redact({
    prompt: 'my name is Ada',
    messages: [{ role: 'user', content: 'secret plan' }],
    max_tokens: 5,
  }) as Record<string, unknown>
  t.match(prompt, { length: 14, sha256: /^[0-9a-f]{64}$/ })
  t.notMatch(JSON.stringify(messages), /secret plan/)
  t.equal(max_tokens, 5)
  t.end()
})

t.test('deeply nested values are truncated', t => {
  const deep: Record<string, unknown> = {}
  let at = deep
  for (let n = 0; n < 100; n++) {
    const next = {}
    at.next = next
    at = next
  }
  t.match(JSON.stringify(redact(deep)), /redacted/)
  t.end()
})

t.test('an exported CSV executes nothing in a spreadsheet', t => {
  const row: AuditRow = {
    seq: 1,
    at: 0,
    actor: '=HYPERLINK("http://example.invalid")',
    tenant: null,
    action: 'a,b',
    subject: 'line\nbreak',
    outcome: 'done',
    details_json: '{"a":"b"}',
    request_id: '@x',
    prev: '0',
    hash: '1',
  }
  const [, line] = formatRows([row], 'csv', { isFirst: true }).split('\r\n')
  t.equal(
    line,
    `1,0,"'=HYPERLINK(""http://example.invalid"")",,"a,b","line\nbreak",done,"{""a"":""b""}",'@x,0,1`,
  )
  t.equal(formatRows([row], 'jsonl', { isFirst: false }), `${JSON.stringify(row)}\n`)
  t.end()
})
