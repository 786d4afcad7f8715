import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { writeDeviceConfig } from './demo-devices.ts'
import type { BalancedEntry } from './entry.ts'
import { lanArgs } from './lan.ts'
import type { UpOptions } from './options.ts'
import type { Addresses } from './ready-file.ts'
import { cellFolder, coordinatorFolder, joinToken, type LaunchState } from './state.ts'

interface InvocationParts {
  options: UpOptions
  state: LaunchState
  env: Record<string, string | undefined>
}

const ON_LOOPBACK = ['--http-host', '127.0.0.1']

/** Flags of every coordinator; the user may put a configuration in the state folder. */
export const coordinatorArgs = (stateFolder: string): string[] => {
  const config = join(stateFolder, 'coordinator.yaml')
  return [...(existsSync(config) ? ['--config', config] : []), ...['--log-level', 'info']]
}

/** A restarted coordinator takes the ports that it had, which were free ones perhaps. */
export const soleArgs = (
  { options, state }: Pick<InvocationParts, 'options' | 'state'>,
  { baseUrl, mqttUrl }: Partial<Addresses> = {},
): string[] => {
  const mqttPort = portOf(mqttUrl) ?? options.mqttPort
  const port = portOf(baseUrl) ?? `${options.port}`
  return [
    ...['--http-port', port],
    ...(options.lan === undefined ? ON_LOOPBACK : lanArgs(options.lan, port)),
    ...['--state-dir', coordinatorFolder(state.folder, 1)],
    ...(mqttPort === undefined ? [] : ['--mqtt-enabled', 'true', '--mqtt-port', `${mqttPort}`]),
  ]
}

/** Cells reach each coordinator at its own address, and clients by the balancer. */
export const replicaArgs = ({
  name,
  port,
  folder,
  url,
}: BalancedEntry['replicas'][number]): string[] => [
  ...ON_LOOPBACK,
  ...['--http-port', `${port}`, '--state-dir', folder],
  ...['--replica-name', name, '--replica-address', url],
]

/** Arguments and environment of a cell, with a join token until it has joined. */
export const invokeCell = async (
  { options, state, env }: InvocationParts,
  cell: number,
  { localUrl, caFile }: Pick<Addresses, 'localUrl' | 'caFile'>,
) => {
  const token = await joinToken(state, cell)
  const hasDevices = cell === 1 && options.devices === 'sim'
  return {
    args: [
      ...(hasDevices ? ['--config', await writeDeviceConfig(state.folder)] : []),
      ...['--coordinator-url', localUrl, '--name', `cell-${cell}`],
      ...['--state-dir', cellFolder(state.folder, cell), '--log-level', 'info'],
    ],
    env: {
      ...env,
      ...(token === undefined ? {} : { SHOAL_COORDINATOR_JOIN_TOKEN: token }),
      ...(caFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: caFile }),
    },
  }
}

const portOf = (url: string | undefined): string | undefined => /:(\d+)$/.exec(url ?? '')?.[1]
