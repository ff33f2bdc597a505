#include "src/case/nearest_model.h"

#include <cctype>

#include "src/base/text.h"

namespace epochbench {
namespace {

struct Kind {
  const char* beginnings;  // of a word in a name
  const char* model;       // as --model takes it
};

// By what a step spends its time on: the kind of layers, their width, and multiply-adds of about the same order.
constexpr Kind kKinds[] = {
    {"mobilenet,shufflenet,squeezenet,ghostnet", "mobilenet-v2"},
    {"efficientnet", "efficientnet-b2"},
    {"yolo,retinanet,rcnn,detr,ssd", "resnet50:height=640,width=640"},
    {"unet,deeplab,segformer", "resnet50:height=512,width=512"},
    {"vgg,alexnet", "resnet152"},
    {"convnext,resnext,regnet,densenet,inception,resnet", "resnet50"},
    {"deit,swin,dino,clip,siglip,sam,mae,vit", "vit-b-16"},
    {"whisper,wav2vec,hubert", "bert-base:sequence=512"},
    {"roberta,electra,deberta,distilbert,albert,minilm,t5,bart", "bert-base"},
    {"mistral,mixtral,qwen,gemma,phi,deepseek,vicuna,llama", "llama-7b"},
    {"opt,bloom,falcon,pythia,gpt", "gpt2"},
    {"lstm,gru,rnn", "lstm-lm"},
};

}  // namespace

std::string nearest_model(std::string_view name) {
  std::string lowered;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    lowered += std::isalnum(letter) ? static_cast<char>(std::tolower(letter)) : ' ';
  }
  for (const Kind& kind : kKinds)
    for (const std::string& beginning : split(kind.beginnings))
      for (const std::string& word : split(lowered, ' '))
        if (word.starts_with(beginning)) return kind.model;
  return "";
}

}  // namespace epochbench
