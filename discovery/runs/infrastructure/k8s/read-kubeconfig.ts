import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import * as z from 'zod'
import { type KubeAccess, type KubeCredentials, originOf } from './kube-access.ts'

const Text = z.string().max(64 * 1024)
const Cluster = z.object({
  server: z.url({ protocol: /^https?$/ }).max(512),
  'certificate-authority-data': Text.optional(),
  'certificate-authority': Text.optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': Text.optional(),
})
const User = z.object({
  token: Text.optional(),
  tokenFile: Text.optional(),
  'client-certificate-data': Text.optional(),
  'client-certificate': Text.optional(),
  'client-key-data': Text.optional(),
  'client-key': Text.optional(),
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
})
type User = z.infer<typeof User>

/** Names are looked up in lists (Kubernetes documentation, "kubeconfig (v1)"). */
const Kubeconfig = z.object({
  'current-context': z.string().max(253).optional(),
  contexts: z
    .array(
      z.object({
        name: z.string(),
        context: z.object({ cluster: z.string(), user: z.string().optional() }),
      }),
    )
    .max(256),
  clusters: z.array(z.object({ name: z.string(), cluster: Cluster })).max(256),
  users: z
    .array(z.object({ name: z.string(), user: User }))
    .max(256)
    .nullish(),
})

const MAX_BYTES = 1024 * 1024

/**
 * Reads the cluster and the credentials of a context of a kubeconfig file. Programs that the file
 * names are never run, and credentials for a server whose certificate is not checked are left out.
 * @throws Error when the file cannot be read or lacks the context
 */
export const readKubeconfig = (file: string, context: string | undefined): KubeAccess => {
  if (statSync(file).size > MAX_BYTES) throw new Error(`${file} is larger than ${MAX_BYTES} bytes`)
  const found = Kubeconfig.parse(parse(readFileSync(file, 'utf8'), { maxAliasCount: 0 }))
  const name = context ?? found['current-context']
  const chosen = found.contexts.find(each => each.name === name)?.context
  const cluster = found.clusters.find(each => each.name === chosen?.cluster)?.cluster
  if (chosen === undefined || cluster === undefined)
    throw new Error(`${file} has no context ${name ?? 'that is current'} with a cluster`)
  const user = found.users?.find(each => each.name === chosen.user)?.user
  const load = createLoader(dirname(file))
  const ca = load(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const serverName = cluster['tls-server-name']
  return {
    server: originOf(cluster.server),
    ...(ca !== undefined && { ca }),
    ...(serverName !== undefined && { serverName }),
    ...(cluster['insecure-skip-tls-verify'] === true
      ? { lack: 'the kubeconfig disables certificate verification' }
      : readUser(user, load)),
  }
}

type Loader = (data: string | undefined, path: string | undefined) => Buffer | undefined

/** Data in the file wins over a path, which is relative to the file. */
const createLoader =
  (folder: string): Loader =>
  (data, path) => {
    if (data !== undefined) return Buffer.from(data, 'base64')
    return path === undefined ? undefined : readFileSync(resolve(folder, path))
  }

const readUser = (
  user: User | undefined,
  load: Loader,
): { credentials?: KubeCredentials; lack?: string } => {
  if (user === undefined) return { lack: 'the context has no user' }
  const cert = load(user['client-certificate-data'], user['client-certificate'])
  const key = load(user['client-key-data'], user['client-key'])
  const token = user.token ?? load(undefined, user.tokenFile)?.toString().trim()
  if (cert !== undefined && key !== undefined) return { credentials: { cert, key } }
  if (token !== undefined) return { credentials: { token } }
  return {
    lack:
      user.exec === undefined && user['auth-provider'] === undefined
        ? 'the user has neither a token nor a certificate'
        : 'the user gets credentials from a program, which is never run',
  }
}
