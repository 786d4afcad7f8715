import t from 'tap'
import { createAdmission } from '../../coordinator/admission.ts'
import type { CloudEvent } from '../../coordinator/events/bus.ts'
import { createClones } from '../../coordinator/fleet/clones.ts'
import { createFleet } from '../../coordinator/fleet/fleet.ts'
import { createCells } from '../../coordinator/keys/cells.ts'
import { createToken } from '../../coordinator/keys/join-tokens.ts'
import { newPrivateKey, signerOf } from '../../shared/signing.ts'
import type { Announce } from '../../shared/wire/announce.ts'
import { silent } from '../support/cell.ts'
import { BY, temporaryStore } from './store/temporary.ts'

t.test('a cell whose disk was set back is heard again after its release', async t => {
  const store = await temporaryStore(t)
  const cells = createCells({ store })
  const limits = { suspectAfterMs: 7500, deadAfterMs: 12_000 }
  const fleet = createFleet({ limits, nowMs: () => 0, changed: () => {} })
  const dropped: string[] = []
  const admission = createAdmission({
    cells,
    fleet,
    drop: id => {
      dropped.push(id)
      fleet.forget(id)
    },
    clones: createClones(() => 0),
    signing: signerOf(newPrivateKey()),
    events: { publish: () => ({}) as CloudEvent },
    logger: silent,
  })
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 1 }, BY)
  const { cell_id } = await admission.enrol({ token: secret, name: 'n' })
  const birth = (epoch: number) => {
    fleet.birth(cell_id, epoch, { name: 'n', engines: [] } as unknown as Announce)
    return fleet.cell(cell_id)?.epoch
  }
  t.equal(birth(40), 40)
  await cells.noteEpoch(cell_id, 40)
  await t.rejects(admission.release(cell_id, BY), { code: 'conflict' }, 'nothing is wrong yet')
  t.equal(birth(2), 40, 'it is not heard')
  t.match(await admission.release(cell_id, BY), { epoch: 0 })
  t.strictSame(dropped, [cell_id], 'it must come anew')
  t.equal(birth(3), 3)
})
