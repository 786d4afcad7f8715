import * as z from 'zod'
import { defineHostProbe } from '../../probe.ts'

/** Programs the library knows; without a selection it runs all of them. */
const PROGRAMS = [
  'bash',
  'bun',
  'deno',
  'docker',
  'dotnet',
  'fish',
  'gcc',
  'git',
  'java',
  'kernel',
  'mongodb',
  'mysql',
  'nginx',
  'node',
  'npm',
  'openssl',
  'perl',
  'php',
  'pip',
  'pip3',
  'pm2',
  'postfix',
  'postgresql',
  'python',
  'python3',
  'redis',
  'systemOpenssl',
  'tsc',
  'v8',
  'virtualbox',
  'yarn',
  'zsh',
] as const

export default defineHostProbe({
  id: 'versions',
  call: 'versions',
  description: 'Versions of installed programs; empty for a program that was not found.',
  shape: 'object',
  input: {
    apps: z
      .array(z.enum(PROGRAMS))
      .min(1)
      .max(PROGRAMS.length)
      .optional()
      .describe('Programs to report; all by default, which runs each of them.'),
  },
  deadlineSeconds: 14,
  argumentsFor: ({ apps }) => [apps?.join(',') ?? '*'],
  arrange: (answer, { apps }) =>
    apps === undefined ? answer : Object.fromEntries(apps.map(app => [app, answer[app] ?? ''])),
})
