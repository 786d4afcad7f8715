import t from 'tap'
import { quarantineNotice } from '../../../daemon/uplink/quarantine-notice.ts'
import { ShoalError } from '../../../shared/errors.ts'

t.test('a quarantined cell logs the remedy once, and its end once', async t => {
  const lines: string[] = []
  const say = (_fields: unknown, message: string) => void lines.push(message)
  const notice = quarantineNotice('cell_x', { info: say, error: say } as never)
  notice.onAccepted()
  notice.onRefused(new Error('the connection ended'))
  notice.onRefused(new ShoalError('auth_required', 'in quarantine'))
  t.strictSame(lines, [], 'other ends say nothing of it')
  const refusal = new ShoalError('forbidden', 'two machines')
  notice.onRefused(refusal)
  notice.onRefused(refusal)
  t.match(lines, [/in quarantine.*shoal cells release.*shoald leave --yes --force/])
  notice.onAccepted()
  notice.onAccepted()
  t.equal(lines.length, 2)
  notice.onRefused(refusal)
  t.equal(lines.length, 3, 'another quarantine is told again')
})
