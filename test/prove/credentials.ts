import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { enrolOnce } from '../../daemon/enrol.ts'
import { writeIdentity } from '../../daemon/identity.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { silent } from '../support/cell.ts'
import { Process } from '../support/stack.ts'
import { Renewer } from './support/renewer.ts'

/**
 * A cell that renews its credential without a pause, while it and the coordinator are killed with
 * kill -9 by turns. The cell must never be refused: both must always know one credential.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { kills: { type: 'string', default: '40' } } as const
  const kills = Number(parseArgs({ args: argv, options }).values.kills)
  const folder = mkdtempSync(join(tmpdir(), 'shoal-credentials-'))
  const stateDir = join(folder, 'coordinator')
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir],
    ...['--http-port', port],
  ])
  const startCoordinator = async (): Promise<void> => {
    coordinator.start()
    await coordinator.line(/"msg":"coordinator is up"/)
  }
  const token = await newToken(stateDir)
  await startCoordinator()
  await enrolInto(join(folder, 'cell'), url, token)
  const cell = new Renewer(join(folder, 'cell'), url)
  cell.start()
  for (let kill = 0; kill < kills; kill++) {
    await sleep(500 + Math.random() * 2000)
    if (kill % 2 === 0) {
      await coordinator.end('SIGKILL')
      await startCoordinator()
    } else {
      await cell.kill()
      cell.start()
    }
  }
  await cell.anotherRenewal()
  await cell.kill()
  await coordinator.end('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
  console.log(`${kills} kills, ${cell.renewals} renewals, refused ${cell.refusals} times`)
  return cell.refusals === 0 && cell.renewals > 0
}

const newToken = async (stateDir: string): Promise<string> => {
  const store = await openStore(stateDir)
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 5 }, { actor: 'prove' })
  await store.close()
  return secret
}

const enrolInto = async (stateDir: string, url: string, token: string): Promise<void> => {
  const identity = await enrolOnce({
    url,
    token,
    name: 'cell',
    signer: createSigner(generatePrivateKey()),
    timeoutSeconds: 10,
    signal: new AbortController().signal,
    logger: silent,
  })
  await writeIdentity(stateDir, identity)
}

/** The coordinator must come back under the same address. */
const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
