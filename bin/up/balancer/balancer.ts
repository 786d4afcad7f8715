import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../find-program.ts'
import type { LogEntry } from '../member.ts'
import type { ChildOptions } from '../process.ts'
import { haproxyConfig } from './haproxy.ts'
import { nginxConfig } from './nginx.ts'

/** What a balancer of a trial listens on and forwards to, all on 127.0.0.1. */
export interface BalancerPlan {
  /** Folder for its configuration and temporary files. */
  folder: string
  port: number
  replicaPorts: readonly number[]
  isRoot: boolean
}

export interface Balancer extends Pick<ChildOptions, 'program' | 'args'> {
  /** Name that the screen shows. */
  name: string
  isReady: (entry: LogEntry) => boolean
}

type FindProgram = (name: string) => string | undefined

/** nginx or HAProxy where one is installed; else a forwarder of connections for trials only. */
export const createBalancer = (plan: BalancerPlan, find: FindProgram = findProgram): Balancer => {
  mkdirSync(plan.folder, { recursive: true, mode: 0o700 })
  return openNginx(plan, find) ?? openHaproxy(plan, find) ?? openForwarder(plan)
}

/** Ends the program when the launcher has ended, for whatever reason (prctl(2)). */
const WITH_LAUNCHER = ['setpriv', '--pdeathsig', 'TERM', '--'] as const

const openNginx = (plan: BalancerPlan, find: FindProgram): Balancer | undefined => {
  const nginx = find('nginx')
  if (nginx === undefined) return undefined
  const file = write(plan, 'nginx.conf', nginxConfig(plan))
  return {
    name: 'nginx',
    program: [...WITH_LAUNCHER, nginx],
    args: ['-p', plan.folder, '-e', 'stderr', '-c', file],
    isReady: ({ msg }) => /start worker process /.test(String(msg)),
  }
}

const openHaproxy = (plan: BalancerPlan, find: FindProgram): Balancer | undefined => {
  const haproxy = find('haproxy')
  if (haproxy === undefined) return undefined
  const file = write(plan, 'haproxy.cfg', haproxyConfig(plan))
  return {
    name: 'HAProxy',
    program: [...WITH_LAUNCHER, haproxy],
    // a master, which says when its worker has loaded
    args: ['-W', '-f', file],
    isReady: ({ msg }) => /Loading success/.test(String(msg)),
  }
}

const openForwarder = ({ port, replicaPorts }: BalancerPlan): Balancer => ({
  name: 'a forwarder of connections for trials only',
  program: [process.execPath, join(import.meta.dirname, 'forwarder.ts')],
  args: [port, ...replicaPorts].map(String),
  isReady: ({ msg }) => msg === 'forwarder is up',
})

const write = ({ folder }: BalancerPlan, name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}
