// The parts of the SDK of MCP that the relay uses. Only load-mcp-sdk.ts imports this file, so that an isolate evaluates
// the SDK when it needs it.
export {
  createMcpHandler,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from "@modelcontextprotocol/server";
