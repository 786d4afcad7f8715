import { appendFileSync } from 'node:fs'
import pino from 'pino'
import { Worker } from '../../../../coordinator/kernel/queue/worker.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { testKind } from './scene.ts'

/* Does jobs of a store, a line in a file for each, until it is killed or told to end. */

const [folder = '', file = '', id = ''] = process.argv.slice(2)
const store = await openStore(folder)
const kind = testKind({
  maxAttempts: 50,
  leaseSeconds: 1,
  run: async payload => {
    appendFileSync(file, `${id} ${(payload as { n: number }).n}\n`)
  },
})
const worker = Worker.start({
  ledger: store.ledger,
  kinds: new Map([[kind.kind, kind]]),
  id,
  logger: pino({ level: 'silent' }),
  now: Date.now,
  runtime: systemRuntime,
  onOutcome: () => process.stdout.write('.\n'),
})
const looking = setInterval(() => worker.wake(), 20)
process.on('SIGTERM', async () => {
  clearInterval(looking)
  await worker.close()
  await store.close()
})
