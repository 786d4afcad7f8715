import * as z from 'zod'
import { defineScan } from '../../module.ts'
import { listAddressKeys, listFactAddresses } from '../../net/address-keys.ts'
import { listMacKeys } from '../../net/mac-keys.ts'

const Text = z.string().max(256)

const Port = z.strictObject({
  port: z.int().min(1).max(65_535),
  name: z
    .string()
    .max(64)
    .describe('Protocol by what the port said: `http`, `ssh`; `unknown` when it said nothing.'),
  product: Text.nullable(),
  version: z.string().max(64).nullable(),
  title: Text.nullable().describe('Title of the page of a web port.'),
  is_encrypted: z.boolean().nullable().describe('Null for a port that is not a web port.'),
})

const Row = z.strictObject({
  address: z.string().max(64),
  mac: z.string().max(17).nullable().describe('Null for a host behind a router.'),
  is_own: z.boolean().describe('True for an address of this cell.'),
  ports: z.array(Port).max(64).describe('Open ports among the common ones.'),
  answers_every_port: z
    .boolean()
    .describe(
      'True for a host such as a tarpit; then silent ports are left out, as they prove nothing.',
    ),
})

export default defineScan({
  id: 'host-scan',
  name: 'Host scan',
  description:
    'Find the hosts of the scope that answer, their common open ports and what answers there.',
  tags: ['network', 'lan', 'ports'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({}),
  examples: [{}],
  deadlineSeconds: 120,
  isPart: true,
  row: Row,
  observe: ({ address, mac, is_own, ports, answers_every_port }, context) => [
    {
      keys: [
        ...(is_own && context.cellId !== undefined
          ? [{ kind: 'shoal_cell' as const, value: context.cellId }]
          : []),
        ...listAddressKeys(address, context),
        ...(mac === null ? [] : listMacKeys([mac])),
      ],
      facts: {
        ...listFactAddresses(address),
        ...(mac === null ? {} : { mac_addresses: [mac] }),
        ...(answers_every_port && { description: 'It answers on every port.' }),
        services: ports.map(({ port, name, product, version, is_encrypted }) => ({
          ...{ port, transport: 'tcp' as const, name, product, version, is_encrypted },
          is_open: null,
        })),
      },
    },
  ],
})
