import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type * as z from 'zod'
import { readNeighbours } from '../../../net/neighbour-table.ts'
import { NotPossibleHere } from '../../../scan-run.ts'
import {
  type Interface,
  Interfaces,
  type NeighbourEntry,
  Neighbours,
  type Route,
  Routes,
} from './ip-answers.ts'

/** State of the network as the kernel has it. */
export interface NetworkState {
  neighbours: NeighbourEntry[]
  interfaces: Interface[]
  routes: Route[]
}

const execute = promisify(execFile)
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Reads neighbours, addresses and routes of both families, all from the kernel: nothing is sent.
 * Without the program `ip` only the ARP table is left.
 */
export const readNetwork = async (signal: AbortSignal): Promise<NetworkState> => {
  const ask = async <T extends z.ZodType>(schema: T, ...words: string[]): Promise<z.output<T>> => {
    const { stdout } = await execute('ip', ['-json', ...words], { signal, maxBuffer: MAX_BYTES })
    return schema.parse(JSON.parse(stdout.trim() || '[]'))
  }
  try {
    const [neighbours, interfaces, v4, v6] = await Promise.all([
      ask(Neighbours, 'neigh', 'show'),
      ask(Interfaces, '-details', 'address', 'show'),
      ask(Routes, 'route', 'show'),
      ask(Routes, '-6', 'route', 'show'),
    ])
    return { neighbours, interfaces, routes: [...v4, ...v6] }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return readArpTable()
  }
}

const readArpTable = async (): Promise<NetworkState> => {
  const table = await readNeighbours()
  if (table === undefined)
    throw new NotPossibleHere('the program `ip` is not installed: install iproute2')
  const neighbours = [...table].map(([dst, lladdr]) => ({ dst, lladdr, dev: '', state: [] }))
  return { neighbours, interfaces: [], routes: [] }
}
