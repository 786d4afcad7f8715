import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type EngineServer, findFreePort, startServer } from './server.ts'

interface EngineSettings {
  weights: string
  folder: string
  slots: number
  threads: number
  /** Tokens of one request. */
  contextLength: number
}

const root = resolve(import.meta.dirname, '..', '..')

/** Starts our daemon as a separate cell with a loopback port. */
export const startCell = async (settings: EngineSettings): Promise<EngineServer> => {
  const port = await findFreePort()
  const config = join(settings.folder, 'cell.yaml')
  const { weights, contextLength: context_length, slots, threads, folder } = settings
  const model = { id: 'm', kind: 'chat', minimum_tier: 'free', weights, context_length }
  const inference = { slots, threads, gpu: 'off' }
  const local = { port }
  const values = { catalogue: [model], inference, local, state_dir: join(folder, 'cell') }
  // JSON is YAML
  writeFileSync(config, JSON.stringify(values))
  const command = [process.execPath, join(root, 'bin', 'shoald.mjs'), '--config', config]
  const { url, child, stop } = await startServer('shoald', command, { port, path: '/healthz' })
  const pids = () => [child.pid ?? 0, ...childrenOf(child.pid ?? 0)]
  return { name: 'shoal', url, pids, stop }
}

/** llama.cpp's server with the same weights, slots and threads. */
export const startLlamaServer = async (
  binary: string,
  { weights, contextLength, slots, threads }: EngineSettings,
): Promise<EngineServer> => {
  const port = await findFreePort()
  const command = [
    ...[binary, '--model', weights, '--host', '127.0.0.1', '--port', String(port)],
    ...['--ctx-size', String(contextLength * slots), '--parallel', String(slots)],
    ...['--threads', String(threads), '--threads-batch', String(threads)],
    ...['--batch-size', '512', '--ubatch-size', '512', '--jinja', '--gpu-layers', '0'],
  ]
  const { url, child, stop } = await startServer('llama-server', command, { port, path: '/health' })
  return { name: 'llama-server', url, pids: () => [child.pid ?? 0], stop }
}

const childrenOf = (pid: number): number[] =>
  spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
    .map(Number)
