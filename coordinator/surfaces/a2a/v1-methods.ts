import {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponse as ListTasksResponseCodec,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { A2aCall } from './call.ts'

type Params = Record<string, unknown>

interface Context {
  handler: A2ARequestHandler
  call: A2aCall
}

interface Plain {
  call(params: Params, context: Context): Promise<unknown>
}
interface Streaming {
  stream(params: Params, context: Context): AsyncGenerator<unknown, void, undefined>
}

/**
 * Decodes the params. Decoders throw arbitrary errors on values of unexpected types; these are
 * reported as malformed requests.
 */
const read = <T>(codec: { fromJSON(value: unknown): T }, params: Params): T => {
  try {
    return codec.fromJSON(params)
  } catch (cause) {
    throw new RequestMalformedError({ message: 'the params do not match the method', cause })
  }
}

/** Tasks without artifacts have an empty list if the request includes artifacts. */
const encodePage = (page: ListTasksResponse, { includeArtifacts }: ListTasksRequest): object => ({
  ...(ListTasksResponseCodec.toJSON(page) as object),
  tasks: page.tasks.map(task => ({
    ...(includeArtifacts === true ? { artifacts: [] } : {}),
    ...(Task.toJSON(task) as object),
  })),
  nextPageToken: page.nextPageToken,
  pageSize: page.pageSize,
  totalSize: page.totalSize,
})

async function* encodeEvents(events: AsyncGenerator<StreamResponse, void, undefined>) {
  try {
    for await (const event of events) yield StreamResponse.toJSON(event)
  } finally {
    await events.return()
  }
}

// the second argument is for handlers that keep no call of their own; ours do
const NONE = undefined as never

/** The methods of A2A 1.0 by their names: ProtoJSON in, ProtoJSON out. */
export const V1_METHODS = {
  SendMessage: {
    call: async (params, { handler }) => {
      const answer = await handler.sendMessage(read(SendMessageRequest, params), NONE)
      return 'messageId' in answer
        ? { message: Message.toJSON(answer) }
        : { task: Task.toJSON(answer) }
    },
  },
  SendStreamingMessage: {
    stream: (params, { handler }) =>
      encodeEvents(handler.sendMessageStream(read(SendMessageRequest, params), NONE)),
  },
  SubscribeToTask: {
    stream: (params, { handler }) =>
      encodeEvents(handler.resubscribe(read(SubscribeToTaskRequest, params), NONE)),
  },
  GetTask: {
    call: async (params, { handler }) =>
      Task.toJSON(await handler.getTask(read(GetTaskRequest, params), NONE)),
  },
  ListTasks: {
    call: async (params, { handler }) => {
      const request = read(ListTasksRequest, params)
      return encodePage(await handler.listTasks(request, NONE), request)
    },
  },
  CancelTask: {
    call: async (params, { handler }) =>
      Task.toJSON(await handler.cancelTask(read(CancelTaskRequest, params), NONE)),
  },
  CreateTaskPushNotificationConfig: {
    call: async (params, { handler }) =>
      TaskPushNotificationConfig.toJSON(
        await handler.createTaskPushNotificationConfig(
          read(TaskPushNotificationConfig, params),
          NONE,
        ),
      ),
  },
  GetTaskPushNotificationConfig: {
    call: async (params, { handler }) =>
      TaskPushNotificationConfig.toJSON(
        await handler.getTaskPushNotificationConfig(
          read(GetTaskPushNotificationConfigRequest, params),
          NONE,
        ),
      ),
  },
  ListTaskPushNotificationConfigs: {
    call: async (params, { handler }) =>
      ListTaskPushNotificationConfigsResponse.toJSON(
        await handler.listTaskPushNotificationConfigs(
          read(ListTaskPushNotificationConfigsRequest, params),
          NONE,
        ),
      ),
  },
  DeleteTaskPushNotificationConfig: {
    call: async (params, { handler }) => {
      await handler.deleteTaskPushNotificationConfig(
        read(DeleteTaskPushNotificationConfigRequest, params),
        NONE,
      )
      return null
    },
  },
  GetExtendedAgentCard: {
    call: async (params, { handler }) =>
      AgentCard.toJSON(
        await handler.getAuthenticatedExtendedAgentCard(
          read(GetExtendedAgentCardRequest, params),
          NONE,
        ),
      ),
  },
} as const satisfies Record<string, Plain | Streaming>

export type V1Method = keyof typeof V1_METHODS

export const v1Method = (name: string): Plain | Streaming | undefined =>
  Object.hasOwn(V1_METHODS, name) ? V1_METHODS[name as V1Method] : undefined
