import t from 'tap'
import { createRefusalLimit } from '../../../../coordinator/surfaces/http/refusal-limit.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { ENROL_PATH } from '../../../../shared/wire/link.ts'
import { appWith } from '../../../support/app.ts'

const refuse = () => Promise.reject(new ShoalError('auth_required', 'no'))

t.test('an address that guesses join tokens', async t => {
  t.test('must wait after 30 refusals in a minute, and no other address must', async t => {
    let ms = 0
    const limited = createRefusalLimit({ ticks: () => ms })
    for (let i = 0; i < 100; i++) await limited('10.0.0.1', async () => 'granted')
    for (let i = 0; i < 30; i++) {
      await t.rejects(limited('10.0.0.1', refuse), { code: 'auth_required' })
      ms += 100
    }
    const grant = async () => 'granted'
    const wanted = { code: 'rate_limited', retryAfterSeconds: 57 }
    await t.rejects(limited('10.0.0.1', grant), wanted)
    t.equal(await limited('10.0.0.2', grant), 'granted')
    ms = 60_000
    t.equal(await limited('10.0.0.1', grant), 'granted')
  })

  t.test('gets 429 with Retry-After', async t => {
    const app = await appWith({ enrol: refuse })
    t.teardown(() => app.close())
    const ask = () =>
      app.inject({ method: 'POST', url: ENROL_PATH, payload: { token: 'x', name: 'n' } })
    for (let i = 0; i < 30; i++) t.equal((await ask()).statusCode, 401)
    const answer = await ask()
    t.equal(answer.statusCode, 429)
    t.match(answer.headers, { 'retry-after': /^[1-9]\d?$/ })
  })
})
