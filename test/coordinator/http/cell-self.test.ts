import t from 'tap'
import { NO_BOOT_ID } from '../../../coordinator/http/upgrades.ts'
import type { Cell } from '../../../coordinator/keys/cell.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { CREDENTIAL_PATH, HEADER_BOOT_ID, pathOfCell } from '../../../shared/wire/link.ts'
import { appWith } from '../../support/app.ts'

t.test('a new credential is given to a start of the daemon that says which it is', async t => {
  const own = 'a'.repeat(32)
  const copy = 'b'.repeat(32)
  const asked: string[] = []
  const app = await appWith({
    cellSelf: {
      authenticate: async id => ({ id }) as Cell,
      arrived: (_id, bootId) => {
        asked.push(bootId)
        if (bootId === copy) throw new ShoalError('forbidden', 'two machines')
      },
      renew: async () => 'next',
      leave: async () => {},
      trust: () => ({ signing_key: '', endorsements: [] }),
      now: () => 0,
    },
  })
  t.teardown(() => app.close())
  const authorization = `Basic ${btoa('c:x')}`
  const statusOf = async (headers: Record<string, string>): Promise<number> => {
    const request = { method: 'POST', url: pathOfCell(CREDENTIAL_PATH, 'c') } as const
    return (await app.inject({ ...request, headers: { authorization, ...headers } })).statusCode
  }
  t.equal(await statusOf({}), 422)
  t.equal(await statusOf({ [HEADER_BOOT_ID]: NO_BOOT_ID }), 422)
  t.equal(await statusOf({ [HEADER_BOOT_ID]: own }), 201)
  t.equal(await statusOf({ [HEADER_BOOT_ID]: copy }), 403)
  t.strictSame(asked, [own, copy])
})
