import { setTimeout as sleep } from 'node:timers/promises'
import { fenceLedger } from '../../../coordinator/kernel/leader/fence.ts'
import { createNotLeaderError } from '../../../coordinator/kernel/leader/leader.ts'
import { LEADER_LEASE } from '../../../coordinator/kernel/leader/lease-leader.ts'
import { createLeases } from '../../../coordinator/kernel/leases/leases.ts'
import { openStore } from '../../../coordinator/kernel/store/store.ts'

/* Program: writes under one epoch of the leader for ever, whatever happened meanwhile, and says how
each write ended: `written`, `conflict` or another code. */

const [host = '', port = '', owner = '', epoch = ''] = process.argv.slice(2)
const place = { host, port: Number(port), user: 'postgres', database: 'shoal' }
const { ledger } = await openStore(place, { pollMilliseconds: 0 })
const leases = createLeases(ledger)
const lease = { name: LEADER_LEASE, owner, epoch: Number(epoch), until: 0 }
const fenced = fenceLedger(ledger, {
  requireLeader: async trx => {
    if (!(await leases.holds(trx, lease))) throw createNotLeaderError()
  },
})
const mark = { month: '1970-01', subject: `epoch_${epoch}`, reserved: 1 }

for (;;) {
  try {
    await fenced.free.write(trx =>
      trx
        .insertInto('quotas')
        .values(mark)
        .onConflict(conflict =>
          conflict
            .columns(['month', 'subject'])
            .doUpdateSet(row => ({ reserved: row('quotas.reserved', '+', 1) })),
        )
        .execute(),
    )
    console.log('written')
  } catch (error) {
    console.log((error as { code?: string }).code ?? String(error))
  }
  await sleep(100)
}
