import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { type KubeAccess, originOf } from './kube-access.ts'
import { readKubeconfig } from './read-kubeconfig.ts'

const Path = z.string().min(1).max(1024)

/** `discovery.modules.k8s-discover` of a cell. */
export const KubeConfig = z.strictObject({
  api_server: z
    .url({ protocol: /^https$/ })
    .max(512)
    .exactOptional(),
  token_file: Path.exactOptional().describe('File with a token for `api_server`.'),
  ca_file: Path.exactOptional().describe('Certificates that `api_server` is checked against.'),
  kubeconfig: Path.exactOptional().describe('Used when `api_server` is absent.'),
  context: z.string().max(253).exactOptional().describe('Context of the kubeconfig.'),
})
export type KubeConfig = z.infer<typeof KubeConfig>

type Environment = Readonly<Record<string, string | undefined>>

/** Folder that Kubernetes mounts into a pod ("Accessing the Kubernetes API from a Pod"). */
const POD_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * The cluster of the configuration, of the kubeconfig, or the one that the cell runs in; undefined
 * when there is none.
 * @throws Error when a named file cannot be read
 */
export const findAccess = (
  config: KubeConfig,
  env: Environment,
  podFolder = POD_FOLDER,
): KubeAccess | undefined => {
  if (config.api_server !== undefined) return readConfigured(config, config.api_server)
  const file = [config.kubeconfig, ...listKubeconfigs(env)].find(
    path => path !== undefined && (path === config.kubeconfig || existsSync(path)),
  )
  if (file !== undefined) return readKubeconfig(file, config.context)
  return readPod(env, podFolder)
}

/**
 * Access to the server that a caller names: what is configured, if it is for this very server, else
 * none, so that no credential goes to another one.
 */
export const accessFor = (server: string, configured: KubeAccess | undefined): KubeAccess =>
  configured !== undefined && originOf(server) === configured.server
    ? configured
    : { server: originOf(server), lack: 'no credentials are configured for this server' }

const readConfigured = (config: KubeConfig, server: string): KubeAccess => ({
  server: originOf(server),
  ...(config.ca_file !== undefined && { ca: readFileSync(config.ca_file) }),
  ...(config.token_file === undefined
    ? { lack: 'no token is configured (token_file)' }
    : { credentials: { token: readFileSync(config.token_file, 'utf8').trim() } }),
})

const listKubeconfigs = ({ KUBECONFIG = '', HOME }: Environment): string[] => [
  ...KUBECONFIG.split(':').filter(path => path !== ''),
  ...(HOME === undefined ? [] : [join(HOME, '.kube', 'config')]),
]

const readPod = (
  { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' }: Environment,
  folder: string,
): KubeAccess | undefined => {
  const token = join(folder, 'token')
  if (host === undefined || !existsSync(token)) return undefined
  const named = host.includes(':') ? `[${host}]` : host
  return {
    server: originOf(`https://${named}:${port}`),
    ca: readFileSync(join(folder, 'ca.crt')),
    credentials: { token: readFileSync(token, 'utf8').trim() },
  }
}
