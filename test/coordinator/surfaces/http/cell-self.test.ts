import t, { type Test } from 'tap'
import { NO_BOOT_ID } from '../../../../coordinator/fleet/enrolment/admission.ts'
import type { EnrolledCell } from '../../../../coordinator/fleet/enrolment/cell.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import {
  CREDENTIAL_PATH,
  HEADER_BOOT_ID,
  HEADER_PROBE,
  LEAVE_PATH,
  pathOfCell,
  SELF_PATH,
} from '../../../../shared/wire/link.ts'
import { appWith } from '../../../support/app.ts'

const own = 'a'.repeat(32)
const copy = 'b'.repeat(32)

/** What was told to whom by questions with these headers. */
const callSelf = async (t: Test, method: 'GET' | 'POST', path: string) => {
  const shown: unknown[] = []
  const arrivals: string[] = []
  let left = 0
  const app = await appWith({
    cellSelf: {
      authenticate: async (id, _credential, caller) => {
        shown.push(caller?.bootId)
        return { id, name: 'n', tags: [] as string[], renewedAt: 0 } as EnrolledCell
      },
      noteArrival: (_id, bootId) => {
        arrivals.push(bootId)
        if (bootId === copy) throw new ShoalError('forbidden', 'two machines')
      },
      renew: async () => 'next',
      leave: async () => {
        left++
      },
      trust: () => ({ signing_key: 'k'.repeat(43), endorsements: [] }),
      now: () => 0,
    },
  })
  t.teardown(() => app.close())
  const authorization = `Basic ${btoa('c:x')}`
  const status = async (headers: Record<string, string>): Promise<number> => {
    const request = { method, url: pathOfCell(path, 'c') } as const
    return (await app.inject({ ...request, headers: { authorization, ...headers } })).statusCode
  }
  return { status, shown, arrivals, left: () => left }
}

t.test('a new credential is issued to a start of the daemon that identifies itself', async t => {
  const { status, shown, arrivals } = await callSelf(t, 'POST', CREDENTIAL_PATH)
  t.equal(await status({}), 422)
  t.equal(await status({ [HEADER_BOOT_ID]: NO_BOOT_ID }), 422)
  t.equal(await status({ [HEADER_BOOT_ID]: own }), 201)
  t.equal(await status({ [HEADER_BOOT_ID]: copy }), 403)
  t.equal(await status({ [HEADER_BOOT_ID]: copy, [HEADER_PROBE]: '1' }), 403, 'no way around')
  t.strictSame(arrivals, [own, copy, copy])
  t.strictSame(shown, [NO_BOOT_ID, NO_BOOT_ID, own, copy, copy])
})

t.test('a cell leaves through one of its starts; starts without an id count as one', async t => {
  const { status, arrivals, left } = await callSelf(t, 'POST', LEAVE_PATH)
  t.equal(await status({ [HEADER_BOOT_ID]: copy }), 403)
  t.equal(await status({ [HEADER_BOOT_ID]: copy, [HEADER_PROBE]: '1' }), 403)
  t.equal(left(), 0, 'a copy cannot end the cell')
  t.equal(await status({ [HEADER_BOOT_ID]: own }), 200)
  t.equal(await status({}), 200)
  t.strictSame(arrivals, [copy, copy, own, NO_BOOT_ID])
  t.equal(left(), 2)
})

t.test('a self-check of a cell counts as a start when it identifies the start', async t => {
  const { status, shown, arrivals } = await callSelf(t, 'GET', SELF_PATH)
  t.equal(await status({ [HEADER_BOOT_ID]: own }), 200)
  t.equal(await status({ [HEADER_BOOT_ID]: copy }), 403)
  t.equal(await status({}), 200, 'a look changes nothing')
  t.equal(await status({ [HEADER_BOOT_ID]: copy, [HEADER_PROBE]: '1' }), 200, 'as of the doctor')
  t.strictSame(arrivals, [own, copy])
  t.strictSame(shown, [own, copy, NO_BOOT_ID, undefined])
})
