import { type ChildProcess, spawn } from 'node:child_process'
import { on } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { readServiceEnv, readServiceFlags } from '../measure.ts'

interface Gateway {
  url: string
  /** The cell's answers without the coordinator, over plain HTTP/1.1. */
  upstream: string
  key: string
  coordinator: ChildProcess
}

/** A coordinator, and a cell with an engine that costs nothing, as processes of their own. */
export const startGateway = async (folder: string, children: ChildProcess[]): Promise<Gateway> => {
  const stateDir = join(folder, 'coordinator')
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  const token = { uses: 1, ttlMinutes: 10 }
  const { secret } = await createToken(store.ledger, token, { actor: 'bench' })
  await store.close()

  const run = (args: string[], env: Record<string, string> = {}): ChildProcess => {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    return child
  }
  const program = join(import.meta.dirname, '..', '..', 'bin', 'shoal-coordinator.mjs')
  const noLimit = [
    ...['--tiers-enterprise-requests-per-minute', '100000'],
    ...['--limits-connections', '20000', '--limits-connections-per-address', '20000'],
  ]
  const options = ['--state-dir', stateDir, '--http-port', '0', ...noLimit]
  const coordinator = run([...readServiceFlags(), program, ...options], readServiceEnv())
  const url = (await line(coordinator, /"url":"([^"]+)"/))[1] ?? ''
  const script = join(import.meta.dirname, 'cell.ts')
  const cell = run([script, url, join(folder, 'cell')], { JOIN_TOKEN: secret })
  const upstream = `http://127.0.0.1:${(await line(cell, /port (\d+)/))[1]}`
  await waitUntilServed(url)
  return { url, upstream, key: keys.enterprise, coordinator }
}

const waitUntilServed = async (url: string): Promise<void> => {
  for (;;) {
    const { models } = (await (await fetch(`${url}/v1/health`)).json()) as { models: number }
    if (models > 0) return
    await new Promise(done => setTimeout(done, 50))
  }
}

/** The first line a process prints that matches. */
const line = async (child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> => {
  let text = ''
  for await (const [piece] of on(child.stdout as Readable, 'data')) {
    text += piece
    const match = pattern.exec(text)
    if (match !== null) return match
  }
  throw new Error('the process ended')
}
