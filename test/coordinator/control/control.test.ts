import t from 'tap'
import { createControl } from '../../../coordinator/control/control.ts'
import type { Cell as LiveCell } from '../../../coordinator/fleet/cell.ts'
import type { Cell } from '../../../coordinator/keys/cell.ts'
import { newId } from '../../../shared/ids.ts'
import { newPrivateKey, signerOf } from '../../../shared/signing.ts'
import { silent } from '../../support/cell.ts'
import { BY, temporaryStore } from '../store/temporary.ts'

t.test('a tag of the join token wins over one that the cell calls itself', async t => {
  const id = newId('cell')
  const live = { id, announce: { tags: ['mine', 'rack'] } } as unknown as LiveCell
  const { configs } = await createControl({
    store: await temporaryStore(t),
    signer: signerOf(newPrivateKey()),
    cells: { get: async () => ({ id, tags: ['site', 'rack'] }) as Cell },
    fleet: { cell: () => live, cells: () => [] },
    publish: async () => {},
    now: Date.now,
    logger: silent,
  })
  for (const [name, level] of [
    ['mine', 'debug'],
    ['site', 'info'],
  ] as const)
    await configs.set({ scope: 'tag', name, document: { log: { level } } }, BY)
  const { tags, document } = await configs.show(id)
  t.strictSame(tags, ['mine', 'site', 'rack'])
  t.strictSame(document, { log: { level: 'info' } })
})
